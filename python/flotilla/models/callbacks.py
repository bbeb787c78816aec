"""What a program hears of the training of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .word2vec import Word2Vec


class CallbackAny2Vec:
    """Override what you need. The calls come from the thread that trains, between epochs, when the vectors of
    the model are those of that moment. An exception ends the training and comes out of it."""

    def on_train_begin(self, model: "Word2Vec") -> None:
        """Before the first epoch."""

    def on_epoch_begin(self, model: "Word2Vec") -> None:
        """Before each epoch."""

    def on_epoch_end(self, model: "Word2Vec") -> None:
        """After each epoch."""

    def on_train_end(self, model: "Word2Vec") -> None:
        """After the last epoch."""
