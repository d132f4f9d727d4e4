"""Tests of whether anything that was read is about the question, and the notices for a reader if not. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from hocket_bus.messages import Passages, Prompt
from hocket_retrieval.text.lexical import language_of

from .attributes import untold_line

_CALIBRATED = "probability:"  # what scorers are called whose scores the bound is for
UNKNOWN = "I do not know. I have found nothing about this in the documents."
_IN_LANGUAGES = {
    "german": "Das weiß ich nicht. In den Dokumenten habe ich nichts dazu gefunden.",
    "french": "Je ne sais pas. Je n'ai rien trouvé à ce sujet dans les documents.",
    "spanish": "No lo sé. No he encontrado nada sobre esto en los documentos.",
    "italian": "Non lo so. Non ho trovato nulla al riguardo nei documenti.",
    "portuguese": "Não sei. Não encontrei nada sobre isso nos documentos.",
    "dutch": "Dat weet ik niet. Ik heb hierover niets gevonden in de documenten.",
}
WITHHELD = "I cannot say: a document that may have this has told the cloud all that it may."
_WITHHELD_IN_GERMAN = (
    "Das kann ich nicht sagen: Ein Dokument, in dem es stehen könnte, hat der Cloud alles gesagt, was es darf."
)
GUESS = "; to get an answer anyway, ask with unknown = answer (hocket ask --unknown answer)"
INVENTED = ", so the answer may be invented"
OFF = 0.0  # the bound up to which nothing is said of any question


def unknown_answer(query: str) -> str:
    """Return the answer to a question that nothing is known about, in its language, or else in English."""
    return _IN_LANGUAGES.get(language_of(query), UNKNOWN)


def withheld_answer(query: str) -> str:
    """Return the answer to a question where documents that were found may say nothing more, in English or German."""
    return _WITHHELD_IN_GERMAN if language_of(query) == "german" else WITHHELD


def scores_of(found: Passages) -> list[tuple[str, float]]:
    """Return the scorer and the best score, as a list that is empty without a passage."""
    return [(found.scorer, nearest(found))] if found.passages else []


def nearest(found: Passages) -> float:
    """Return the best score; -1 without a passage."""
    return max((passage.score for passage in found.passages), default=-1.0)


def is_about(found: Passages, minimum: float) -> bool:
    """Tell whether a passage scores at least `minimum`, in [0, 1]; for scorers of another scale none does."""
    return found.scorer.startswith(_CALIBRATED) and nearest(found) >= minimum


def doubt(found: Sequence[tuple[str, float]], minimum: float) -> str:
    """Return the notice that no passage scores `minimum`, in [0, 1]; empty if one does, or on another scale."""
    if not found or not all(scorer.startswith(_CALIBRATED) for scorer, _ in found):
        return ""
    best = max(score for _, score in found)
    if best >= minimum:
        return ""
    likely = f"the best passage answers with a probability of {best:.2f}, less than {minimum:g}"
    return f"probably not in your documents: {likely}"


def doubt_of_all(own: Passages, others: Sequence[tuple[str, float]], minimum: float, prompt: Prompt) -> str:
    """Return why nothing that anybody has found answers the question; empty where something does, or may.

    `others` are the scorers and best scores of those that have found passages, whose text is not known here. With a
    `minimum` of 0 or less nothing is doubted.
    """
    if line := doubt([*scores_of(own), *others], minimum):
        return line
    may_know = bool(others) and not doubt(others, minimum)
    return "" if may_know or minimum <= OFF else untold_line(prompt, own)


_WORDS = re.compile(r"[^\W_]+")
_PHRASES = {
    "English": "hello; hi; hey; hi there; hello there; good morning; good afternoon; good evening; good night; "
    "goodbye; bye; see you; thanks; thank you; thanks a lot; many thanks; thank you very much; ok; okay; great; nice; "
    "how are you; how are you doing; how is it going; how s it going; what s up; who are you; what are you; "
    "what is your name; what can you do; can you help me; help me; help; are you there; test; nice to meet you",
    "German": "hallo; guten morgen; guten tag; guten abend; gute nacht; tschüss; auf wiedersehen; danke; vielen dank; "
    "danke schön; wie geht es dir; wie geht es ihnen; wie geht s; wer bist du; was kannst du",
    "French": "bonjour; bonsoir; salut; au revoir; merci; merci beaucoup; ça va; comment ça va; comment allez vous; "
    "qui es tu; qui êtes vous",
    "Spanish": "hola; buenos días; buenas tardes; buenas noches; adiós; gracias; muchas gracias; cómo estás; qué tal; "
    "quién eres",
    "Italian": "ciao; buongiorno; buonasera; arrivederci; grazie; grazie mille; come stai; chi sei",
    "Portuguese": "olá; bom dia; boa tarde; boa noite; obrigado; obrigada; tudo bem; quem é você",
    "Dutch": "goedemorgen; goedemiddag; goedenavond; dag; dank je; dank je wel; bedankt; hoe gaat het; wie ben je",
    "Chinese": "你好; 您好; 早上好; 晚上好; 再见; 谢谢; 你是谁",
    "Japanese": "こんにちは; こんばんは; おはよう; おはようございます; ありがとう; ありがとうございます; さようなら",
}


def _worded(text: str) -> str:
    return " ".join(_WORDS.findall(unicodedata.normalize("NFC", text).casefold()))


_SAID = "|".join(re.escape(_worded(phrase)) for each in _PHRASES.values() for phrase in each.split("; "))
_SMALL_TALK = re.compile(rf"(?:{_SAID})(?: (?:{_SAID}))*")


def is_small_talk(query: str) -> bool:
    """Tell whether a question is small talk: nothing but greetings, thanks and the like, in one of nine languages."""
    return _SMALL_TALK.fullmatch(_worded(query)) is not None
