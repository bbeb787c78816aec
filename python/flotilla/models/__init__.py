"""Word vectors with the interface of gensim 4: `from flotilla.models import Word2Vec, KeyedVectors`."""

from .keyedvectors import KeyedVectors
from .word2vec import Word2Vec

__all__ = ["KeyedVectors", "Word2Vec"]
