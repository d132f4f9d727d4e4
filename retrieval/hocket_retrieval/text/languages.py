"""The language of a text, by its most frequent small words, and the stems of that language's words.

A wrong guess costs little: whatever is found by stems is looked for by whole words, too.
"""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module, metadata
from typing import Protocol, cast

DEFAULT = "english"
STEMMER = f"snowballstemmer {metadata.version('snowballstemmer')}"  # another one may make other stems

# The names are Snowball's; words are in small letters and with their accents.
STOP_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "english": """
            about after all also although am an and any are around as at be because been before being between both but
            by can could did do does doing during each either even ever few for from further get gets got had has have
            having he her here hers him his how however if in into is it its itself just let like made make makes many
            may me might more most much must my new no nor not of off on once one ones only or other our out over own
            said same see several she should since so some still such take than that the their them then there these
            they this those through to too under until up upon use used using very was we well were what when where
            whether which while who whom whose why will with within without would yet you your""",
        "german": """
            aber als am an auch auf aus bei bin bis da das dass dem den der des die dies diese dieser du durch ein eine
            einem einen einer eines er es für gibt haben hat ich ihr im in ist kann man mit nach nicht noch nur oder
            sich sie sind so über um und uns unter vom von vor wann war warum was welche welcher welches wenn wer werden
            wie wir wird wo wurde zu zum zur""",
        "french": """
            au aux avec ce ces cette comment comme dans de des donc du elle elles en est et eu il ils je la le les leur
            lui mais ne nous on ou où par pas plus pour pourquoi qu quand que quel quelle quels qui sa sans se ses son
            sont sur un une vous été être""",
        "spanish": """
            al como con cuál cuando cuándo cuánto de del dónde donde el ella en era es esta este está fue ha hay la las
            le lo los más no o para pero por porque que qué quién se ser si sin sobre son su sus también un una y ya""",
        "italian": """
            a ai al alla anche che chi ci come con cosa da dal dalla dei del della delle di dove e è gli ha i il in la
            le lo ma nel nella non o per perché più quale quando quanto se si sono su sul tra un una uno""",
        "portuguese": """
            a ao aos as com como da das de do dos e é ela ele em foi há isso já mais mas na nas no nos não o onde os ou
            para pela pelo por qual quando que quem se ser são sua seu também um uma""",
        "dutch": """
            aan als bij dat de den der die dit door een en er hebben heeft het hij hoe ik in is maar met naar niet nog
            of om onder ook op over te tot uit van voor waar waarom wanneer was wat welke wie wordt ze zich zijn""",
        "swedish": """
            att av den det där de efter ett en eller för från har hur han hon i inte inom med men när och om på samt
            sig som så till under upp ut vad var vem vid vilken är""",
        "danish": """
            af at blev den der det de efter eller en er et for fra ham han har hun hvad hvem hvor hvordan hvornår i ikke
            kan med men nu når og om på sig skal som til ved været""",
        "norwegian": """
            av at ble bli den der det de eller en er et etter for fra ham han har hun hva hvem hvor hvordan i ikke kan
            med men nå når og om på seg skal som til ved vært""",
        "finnish": """
            ei että ja joka jos kanssa ketkä kuin kuka kun mikä missä milloin miten minä mitä mutta myös niin ne on oli
            ovat se sekä sen tai tämä vain""",
        "polish": """
            ale czy dla do gdzie go i ich jak jaki jakie jest już kiedy który która które kto lub ma na nie o od oraz po
            przez się są ta te to tym w we z za ze że""",
        "czech": """
            a ale ani aby až být co do i jak jako je jeho jejich jsou k kde kdo kdy která které který ma na nebo není o
            od po pro proč při se si s ta to tak u v ve z za že""",
        "hungarian": """
            a az azt de egy el ez és hogy hol ha is ki le már meg mely melyik mi mikor milyen mint miért nem s szerint
            van vagy volt""",
        "romanian": """
            a al ale care ce cine cu când cum de din este fi fost în la lui mai nu o pe pentru prin sau se și sunt un
            una unde""",
        "indonesian": """
            ada adalah apa atau bagaimana dalam dan dari dengan di dia ini itu kapan karena ke mana oleh pada saya siapa
            sudah tidak untuk yang""",
        "turkish": """
            ama bir bu çok da daha de değil diye en gibi hangi her için ile ise kadar kim mi mı mu mü nasıl ne neden
            nerede o olan olarak sonra şu var ve veya ya zaman""",
        "russian": """
            а без бы был была были в во вы где для до его ее если есть еще же за и из или им их к как какая какие какой
            когда который кто ли мы на не но о об он она они от по под при с со так также то у чем что эта это этот
            я""",
        "serbian": """
            али био бити где до за и из или је ју када како која које који ли на не од он она па по са се су што у""",
        "greek": """
            αν από για δεν είναι ένα ένας η θα και με μια να ο οι όταν ποια ποιος ποιοσ που πού πότε πώς σε στη στην στο
            στον τα τη την τησ της τι το τον του των ως""",
        "arabic": """
            أن أو أين إلى إن التي الذي أي بين ثم على عن في قد كان كانت كم كيف كل لا لم لماذا ما متى مع من منذ هذا هذه هل
            هو هي و ومن وهو""",
        "persian": """
            آن از است این با بر برای به بود تا چه چگونه خود در را شد شده کجا که کی می های هر هم و یا یک""",
        "hindi": """
            और इस एक कब कर करता करते करने कहाँ कहां का कि किया किस किसने की के को कौन क्या क्यों कितने कितना कितनी जो तक था
            थी थे ने नहीं पर भी में यह या वह से हुआ है हैं हो होता होती ही""",
        "nepali": """
            को मा र छ हो ले लाई गर्न भएको पनि यो त्यो कहाँ कहिले छन् थियो गरेको बाट लागि""",
        "tamil": """
            அது இது இந்த ஒரு என்ன என்று எங்கே எப்போது மற்றும் யார் உள்ளது""",
        "armenian": """
            է են եւ և որ ինչ ով որտեղ երբ մեջ համար թե այս այդ մի ու""",
    }.items()
}


_OF_SCRIPTS = {"ARABIC": "arabic", "ARMENIAN": "armenian", "CYRILLIC": "russian", "DEVANAGARI": "hindi"}
_OF_SCRIPTS |= {"GREEK": "greek", "TAMIL": "tamil"}

_OF_LETTERS = {"ı": "turkish", "ğ": "turkish", "ş": "turkish", "ß": "german", "ñ": "spanish", "ã": "portuguese"}
_OF_LETTERS |= {"å": "swedish", "ø": "danish", "ł": "polish", "ř": "czech", "ě": "czech", "ő": "hungarian"}
_OF_LETTERS |= {"ă": "romanian", "ț": "romanian", "ђ": "serbian", "ћ": "serbian", "پ": "persian", "گ": "persian"}


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - Snowball's name


_lock = threading.Lock()  # a stemmer holds the word that it works on


def detect(words: Sequence[str]) -> str:
    """The language that most of the case folded `words` are small words of.

    Where none is, the first letter of one language tells, or else the script of the first word.
    """
    counts, languages = Counter[str](), _languages()
    for word, times in Counter(words).items():
        for language in languages.get(word, ()):
            counts[language] += times
    if counts:
        return max(counts, key=lambda language: (counts[language], language == DEFAULT))
    if own := next((_OF_LETTERS[letter] for word in words for letter in word if letter in _OF_LETTERS), None):
        return own
    return _OF_SCRIPTS.get(unicodedata.name(words[0][0], "").partition(" ")[0], DEFAULT) if words else DEFAULT


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str) -> str:
    """The stem of a case folded word; the word itself in a language that is not known."""
    if language not in STOP_WORDS:
        return word
    with _lock:
        return _stemmer(language).stemWord(word)


@cache
def _languages() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language, words in STOP_WORDS.items():
        for word in words:
            found.setdefault(word, []).append(language)
    return found


@cache
def _stemmer(language: str) -> _Stemmer:
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return cast("_Stemmer", getattr(module, f"{language.capitalize()}Stemmer")())
