"""Word vectors, as a program for gensim does it: only the imports name another package.

    PYTHONPATH=build/release/python /usr/bin/python3 examples/python/word2vec.py TEXT [QUESTIONS]

TEXT: lines of words between blanks. QUESTIONS: analogies, lines `a b c d` with sections `: name`.
"""

import logging
import sys

from flotilla.models import KeyedVectors, Word2Vec
from flotilla.models.word2vec import LineSentence

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)

sentences = LineSentence(sys.argv[1])
model = Word2Vec(sentences=sentences, vector_size=50, window=5, min_count=5, sg=1, workers=2, epochs=5, seed=1)
model.save("word2vec.model")

word = model.wv.index_to_key[0]
print(f"{len(model.wv)} words; most frequent: {word}, {model.wv.get_vecattr(word, 'count')} times")
print("similar:", ", ".join(f"{other} {cosine:.2f}" for other, cosine in model.wv.most_similar(word, topn=5)))

# More text: new words are added, and training goes on.
model = Word2Vec.load("word2vec.model")
model.build_vocab(sentences, update=True)
model.train(sentences, total_examples=model.corpus_count, epochs=1)

model.wv.save_word2vec_format("vectors.bin", binary=True)
vectors = KeyedVectors.load_word2vec_format("vectors.bin", binary=True)
if len(sys.argv) == 3:
    accuracy, _ = vectors.evaluate_word_analogies(sys.argv[2])
    print(f"analogies: {100 * accuracy:.1f} % right")
