"""The tokenizer both models share: byte-level BPE, every digit a token of its own."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SIZE = 2048
BOS, EOS, PAD = "<|bos|>", "<|eos|>", "<|pad|>"


def train(texts: Iterable[str]) -> Tokenizer:
    """Learn the merges; ids 0, 1, 2 are beginning, end and padding."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=[BOS, EOS, PAD], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write it so that AutoTokenizer finds it."""
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, pad_token=PAD, clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )  # fmt: skip
    fast.save_pretrained(folder)
