# Fails unless the README contains the program verbatim, without its leading comment.
file(READ ${README} readme)
file(READ ${PROGRAM} program)
string(FIND "${program}" "#include" begin)
string(SUBSTRING "${program}" ${begin} -1 program)
string(FIND "${readme}" "${program}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${README} does not show ${PROGRAM}: copy the program into it again")
endif()
