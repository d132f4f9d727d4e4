"""English words that are no part of an entity: the small ones, and forms of common verbs."""

from __future__ import annotations

# A word behind one of these is a verb: it names nothing.
_BEFORE_VERBS = """
    to i you he she it we they who can could may might must shall should will would cannot can't won't don't doesn't
    didn't do does did not never i'm you're we're they're i'll you'll we'll they'll i've you've we've they've i'd
    you'd let lets let's please also always often usually"""

_SMALL = """
    today tomorrow yesterday
    a about above according across actually after again against ago all almost alone along already although am amid
    among amongst an and another any anybody anyone anything anyway anywhere apart are aren't around as aside at
    away back basically be became because become becomes been before beforehand behind being below beneath beside
    besides best better between beyond both but by certain certainly clearly come comes coming currently definitely
    despite different done down due during each early easily either else elsewhere enough entire especially etc even
    ever every everybody everyone everything everywhere exactly except far few fewer finally first five following
    for former formerly four from full fully further furthermore generally get gets getting give given gives giving
    go goes going gone good got great greater had half hardly has hasn't have haven't having hence her here hers
    herself high him himself his how however i.e if immediately important in indeed instead into is isn't its itself
    just keep keeps kept kind know known knows large larger last lately later latter least less like likely little
    long lot lots low lower made mainly make makes making many mean means meanwhile me merely mine more moreover
    most mostly much my myself namely near nearly necessary need needed needs neither nevertheless new next nine no
    nobody none nonetheless nor nothing now nowhere obviously of off oh ok okay old on once one ones only onto or
    other others otherwise ought our ours ourselves out over overall own particular particularly per perhaps
    possible possibly probably put puts quite rather ready really recent recently regarding regardless right said
    same saw say saying says second see seeing seem seemed seems seen sent set sets seven several significant
    significantly similar simply since six small so some somebody somehow someone something sometime sometimes
    somewhat somewhere soon specific specifically still sub such sure take taken takes taking tell ten than thank
    thanks that that's the their theirs them themselves then there there's thereby therefore these thing things this
    those though three through throughout thus together told too took toward towards tried tries true try trying
    turn twice two typically under underneath unless unlike unlikely until unto up upon us use used useful uses
    using usual various versus very via vs want wanted wants was wasn't way ways well went were weren't what what's
    whatever when whenever where whereas wherever whether which while whole whom whose why wide with within without
    wrong yes yet your yours yourself yourselves able available big easy hard free main major minor single common
    short total current previous multiple additional example e.g bit part parts number case cases fact point end
    side yeah hi hello sorry maybe pretty anymore hey nice look looks looking looked lol"""

# Their forms are made below; bare ones are not among these: "plan" and "report" name things, too.
_VERBS = """
    accept access achieve act add affect agree aim allow announce answer appear apply approve argue arrive ask
    assume attend avoid base beat become begin believe belong bring build buy call care carry cause change charge
    check choose claim click close collect combine come compare complete concern consider consist contain continue
    contribute cost cover create cut deal decide define deliver demand depend describe design determine develop die
    discover discuss display draw drive drop earn eat enable encourage end enjoy ensure enter establish exist expand
    expect explain express face fail fall feel fill find finish fit focus follow force form gain gather generate
    grow handle happen hear help hold hope identify imagine implement improve include increase indicate influence
    inform intend introduce invest involve join keep lack launch lay lead learn leave lie list listen live lose
    maintain manage meet mention mind miss move notice obtain occur offer open operate own pass pay perform pick
    place plan play prefer prepare present prevent produce promote protect prove provide publish pull purchase push
    raise reach read realize receive recognize recommend reduce refer reflect relate release remain remember remove
    replace report represent request require result return reveal run save select sell send separate serve share
    show sit sleep solve speak spend stand start state stay stop store succeed suffer suggest supply support suppose
    switch talk teach tend think treat understand update view visit wait walk watch wear win wish wonder work worry
    write"""

_IRREGULAR = """
    began begun bought brought built came chose chosen dealt drawn drew driven drove ate eaten fallen fell felt
    found grew grown heard held kept laid led left lost met paid ran sat sold shown slept spoke spoken spent stood
    taught thought understood wore won written wrote sought given"""


def _forms(verb: str) -> list[str]:
    stem = verb.removesuffix("e")
    past = verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else stem + "ed"
    doubled = verb + verb[-1]
    return [past, stem + "ing", doubled + "ed", doubled + "ing"]


BEFORE_VERBS = frozenset(_BEFORE_VERBS.split())
NO_ENTITY = (
    BEFORE_VERBS
    | frozenset(_SMALL.split())
    | frozenset(form for verb in _VERBS.split() for form in _forms(verb))
    | frozenset(_IRREGULAR.split())
)
