"""Questions that are about no document: greetings, thanks, and what one asks an assistant of itself. Pure."""

from __future__ import annotations

import re

from hocket_retrieval.lexical import whole_words

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
    return " ".join(whole_words(text))


_SAID = "|".join(re.escape(_worded(phrase)) for each in _PHRASES.values() for phrase in each.split("; "))
_SMALL_TALK = re.compile(rf"(?:{_SAID})(?: (?:{_SAID}))*")


def is_small_talk(query: str) -> bool:
    """Whether it says nothing but such phrases, in one of nine languages."""
    return _SMALL_TALK.fullmatch(_worded(query)) is not None
