"""The kinds of made-up facts for training, each with several wordings between subject and value."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of fact, whose `subject` is a person, or one of several nouns after a name."""

    subject: str
    wordings: tuple[str, ...]
    value: str
    after: str = ""


def _kinds(table: str) -> tuple[Kind, ...]:
    rows = ([cell.strip() for cell in line.split(";")] for line in table.strip().splitlines())
    return tuple(
        Kind(subject, tuple(wording.strip() for wording in wordings.split("|")), value, f" {after}" if after else "")
        for subject, wordings, value, after in rows
    )


KINDS = _kinds("""
person ; was born in | comes from | first saw the light of day in ; place ;
person ; is married to | has as a spouse | shares a household with ; person ;
person ; studied under | was a pupil of | had as a teacher ; person ;
person ; works for | is employed by | draws a salary from ; brand ;
person ; spent the winter in | passed the cold months in | stayed from December to March in ; place ;
person ; lent the car to | let somebody else drive the car, namely | gave the car for a week to ; person ;
person ; parks the bicycle beside the | leaves the bike next to the | locks the bicycle to the ; thing ;
person ; collects stamps in a | stores the stamps in a | has put all stamps into a ; thing ;
person ; will retire on | stops working on | has the last day at work on ; date ;
person ; got the driving licence in | passed the driving test in | learned to drive in ; year ;
person ; owns | keeps a flock of | has on the meadow ; count ; sheep
person ; catches the bus at | takes the coach at | has to be at the bus stop by ; clock ;
person ; has the badge | wears a badge with the mark | shows the gate a pass that reads ; code ;
person ; called the dog | has a dog by the name of | shouts for a dog named ; brand ;
person ; logs in with | uses as a secret phrase | types at the login ; word ;
person ; inherited a farmhouse near | was left a cottage close to | has been given a country house outside ; place ;
person ; wrote the speech for | drafted the address of | put the words into the mouth of ; person ;
person ; ordered | placed an order for | asked a firm to deliver ; count ; tiles
school|college|academy ; is led by | has as its head | is run by ; person ;
school|college|academy ; was founded in | goes back to the year | took in its first pupils in ; year ;
school|college|academy ; teaches | has enrolled | gives lessons to ; count ; pupils
hotel|inn|guesthouse ; belongs to | is owned by | is the property of a family called ; brand ;
hotel|inn|guesthouse ; lies close to | stands not far from | is a short walk away from ; place ;
hotel|inn|guesthouse ; serves breakfast from | lays the tables for breakfast at | puts out the coffee at ; clock ;
hotel|inn|guesthouse ; rents its largest room for | asks for its best room | lets the suite at ; count ; francs
hotel|inn|guesthouse ; hides the till in a | keeps its cash in a | locks the day's takings into a ; thing ;
river|canal|stream ; rises near | has its source at | springs from the ground close to ; place ;
river|canal|stream ; flooded the valley in | burst its banks in | put the fields under water in ; year ;
bridge|tunnel|viaduct ; was designed by | is the work of an engineer called | goes back to the plans of ; person ;
bridge|tunnel|viaduct ; was opened on | has carried traffic since | was handed over to the public on ; date ;
bridge|tunnel|viaduct ; measures | has a length of | is as long as ; count ; metres
committee|council|board ; meets at | begins its sessions at | comes together every week at ; clock ;
committee|council|board ; is chaired by | has as its chair | takes its orders from ; person ;
committee|council|board ; voted on the budget on | decided about the money on | passed the spending plan on ; date ;
engine|motor|generator ; was built by | comes from the works of | left the factory of ; brand ;
engine|motor|generator ; bears the label | has on its plate | can be told by the mark ; code ;
engine|motor|generator ; starts with the command | needs as its start word | is set going by entering ; word ;
ship|ferry|steamer ; sailed to | set course for | left the harbour bound for ; place ;
ship|ferry|steamer ; is commanded by | has as its captain | obeys the orders of ; person ;
ship|ferry|steamer ; departs at | casts off at | leaves the quay at ; clock ;
ship|ferry|steamer ; was wrecked in | went down in | sank with all its cargo in ; year ;
contract|invoice|letter ; was signed by | carries the signature of | bears the name of ; person ;
contract|invoice|letter ; expires on | runs out on | is no longer valid after ; date ;
contract|invoice|letter ; is filed under | can be found in the records as | has the reference ; code ;
contract|invoice|letter ; is kept in a | was put away in a | lies at the bottom of a ; thing ;
festival|concert|fair ; takes place in | is held each summer in | draws its crowds to ; place ;
festival|concert|fair ; is paid for by | gets its money from | is sponsored by ; brand ;
festival|concert|fair ; begins on | starts on | will be opened with a parade on ; date ;
festival|concert|fair ; sold | found buyers for | handed out at the door ; count ; tickets
""")
