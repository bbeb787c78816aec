// Makes chosen file-system calls of a process fail, for tests of what is written to disk. It
// replaces the functions of the C library that create, write, sync, rename and remove files, and
// counts the calls whose path is at or below a directory. Reading is not counted, nor are streams
// (FILE, std::ofstream), whose calls stay inside the C library.
//
// Linked into a test program, it is controlled by the functions below. As a shared library it is
// preloaded into any program and controlled by the environment:
//
//   LD_PRELOAD=build/release/libio_fault.so FLOTILLA_IO_FAULT_DIR=DIR    calls at or below DIR
//   FLOTILLA_IO_FAULT_FIRST=N    the Nth call fails, from 1 (0: none, calls are only counted)
//   FLOTILLA_IO_FAULT_COUNT=N    number of calls that fail from there on (default 1)
//   FLOTILLA_IO_FAULT_ERROR=EIO  or ENOSPC
//   FLOTILLA_IO_FAULT_LOG=FILE   appends a line per counted call: "N ok|failed FUNCTION PATH"
//
// A failed call has no effect, except that close closes. Nothing is synced, wherever it is, so that
// tests of many saves are fast. Thread-safe.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

namespace flotilla {

struct IoFault {
  std::string dir;    // absolute, without links
  int64_t first = 0;  // the call that fails, counted from 1; 0: none
  int64_t count = 1;  // number of calls that fail, from `first` on
  int error = EIO;    // errno of failed calls
};

struct IoCall {
  std::string function;
  std::string path;
  bool failed = false;
};

// Counts from 1 again, with this fault.
void StartIoFault(const IoFault& fault);
// The calls since StartIoFault, in order; no call is counted or fails any more.
std::vector<IoCall> EndIoFault();

}  // namespace flotilla
