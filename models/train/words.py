"""Plain word lists the made-up facts are built from; knows words only, not how they are used."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


CATEGORIES: dict[str, tuple[str, ...]] = {
    name: _words(words)
    for name, words in {
        "fruit": "apple pear quince fig mango papaya cherry melon grape lemon orange banana peach raspberry "
        "strawberry blackberry pineapple coconut date lime guava lychee kiwi nectarine gooseberry cranberry",
        "drink": "coffee cider cocoa lemonade milk kefir rum whisky punch espresso water beer juice gin sherry port "
        "mead tonic soda champagne bouillon buttermilk",
        "food": "pancakes noodles dumplings sausages omelettes pizza curry stew pie porridge waffles sushi tacos "
        "salad lasagne goulash chowder bread pudding crackers biscuits ham bacon pickles olives beans chocolate "
        "honey marmalade nuts almonds hazelnuts peas carrots potatoes cabbage spinach tomatoes rice pasta",
        "animal": "dog horse rabbit parrot goat sheep donkey duck goose owl eagle otter beaver wolf bear lynx mole "
        "hamster ferret turtle lizard salmon whale dolphin seal pony camel raven badger weasel stork swan",
        "instrument": "piano violin cello flute trumpet drum guitar harp organ clarinet oboe banjo accordion "
        "saxophone trombone mandolin viola lute zither tuba",
        "colour": "red blue yellow black white brown pink purple grey turquoise beige silver golden crimson scarlet "
        "magenta cream olive navy copper indigo teal",
        "flower": "rose tulip daisy violet poppy lily iris orchid dahlia peony lavender primrose sunflower jasmine "
        "crocus daffodil begonia lotus aster lupin",
        "material": "wood steel glass paper leather silk wool cotton marble clay bronze iron copper plastic rubber "
        "stone brick bamboo aluminium gold silver wax linen concrete sandstone oak pine felt",
        "sport": "tennis football hockey rowing fencing judo golf cricket archery boxing skating skiing swimming "
        "cycling volleyball handball badminton surfing polo wrestling",
        "hobby": "pottery knitting photography gardening painting astronomy juggling origami baking sailing "
        "carpentry dancing poetry chess weaving embroidery magic calligraphy beekeeping",
        "job": "baker teacher nurse pilot farmer tailor lawyer painter plumber carpenter librarian butcher engineer "
        "dentist waiter gardener driver cook sailor miner clerk potter judge editor chemist surgeon architect "
        "photographer translator journalist mechanic electrician",
        "tool": "hammer saw drill spade rake ladder wrench chisel axe rope lamp knife needle brush bucket shovel "
        "compass telescope microscope anvil crowbar pump",
        "subject": "physics history law medicine biology chemistry music botany philosophy economics geography "
        "mathematics linguistics zoology theology architecture statistics archaeology",
        "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "month": "January February March April May June July August September October November December",
        "language": "Latin Greek Arabic Welsh Danish Polish Turkish Korean Hindi Finnish Spanish Dutch Basque Tamil "
        "Persian Swahili Norwegian Czech Maltese Hebrew",
        "tree": "oak beech birch pine willow maple ash elm cedar chestnut poplar larch alder fir spruce",
        "vehicle": "bicycle tractor bus tram lorry motorcycle boat canoe scooter sledge van taxi jeep raft kayak",
        "medicine": "aspirin ibuprofen penicillin insulin codeine quinine morphine iodine",
    }.items()
}

ADJECTIVES = _words(
    "old new small big long short quiet loud heavy light round square broken clean dirty warm cold dry wet soft hard "
    "sweet sour bitter fresh wild silent hidden lost golden silver wooden distant northern southern eastern western "
    "early late gentle sharp hollow bright dark pale deep narrow wide rusty dusty curious honest lazy clever foolish "
    "crooked frozen burning singing sleeping broken second third last red blue green white black grey brown"
)
NOUNS = _words(
    "river mountain forest garden bridge tower window door mirror candle letter shadow harbour island valley desert "
    "ocean storm winter summer morning evening road house castle village market station theatre library kitchen "
    "cellar attic roof chimney table chair carpet curtain pillow blanket basket bottle kettle spoon plate bowl cup "
    "clock watch ring necklace button coat hat glove scarf boot shoe umbrella suitcase ticket map book newspaper "
    "photograph painting statue puppet doll kite ball wheel engine rocket satellite radio camera magnet crystal "
    "feather shell stone leaf branch root seed meadow field fence gate path stream waterfall lake bay cliff cave "
    "horse crow fox hare bee moth spider whale anchor sail oar lighthouse ferry wagon carriage king queen soldier "
    "doctor sailor miller piper shepherd stranger brother sister uncle orchard vineyard mill tavern chapel abbey"
)
ONSETS = _words(
    "b br c ch cl d dr f fl g gr h j k kl kr l m n p pr qu r s sh st t th tr v w y z ph bl sl sp sv vl gw gl cr"
)
VOWELS = _words("a e i o u a e i o a e i o u a e i o ai ea ei ia ie oa oo ou ue au y")
CODAS = _words("n r l s t m d k nd rt lm st ck x sh ll nn rn lt v b g sk ng") + ("",) * 12
PERSON_ENDS = _words("a o e i us en in el is as an ina ette ard win bert mund ric ana ita ko ra na lo")
FAMILY_ENDS = _words("son ley ton er man ski sen berg ez i ini ou well field wood er mann strom worth nen dahl")
PLACE_ENDS = _words(
    "ton ham burg ville stead ford bury port field mouth wick by dorf stad heim grad holm land ia sk polis minster "
    "bridge well ness gate vik"
)
FILLERS = tuple(
    line.strip()
    for line in """
The weather was nice for once.
It rained again in the afternoon.
We had a long talk about nothing in particular.
Nobody answered the phone.
The meeting was over sooner than expected.
Do not forget to water the plants.
I must call my sister back.
The train was late and rather full.
Somebody left the light on all night.
There is not much more to say about it.
The details will follow next week.
Many visitors come here in summer.
Opinions about this differ.
It is one of the oldest of its kind.
The work took several years.
Little is known about its early history.
Ask at the counter if in doubt.
Payment is possible in cash or by card.
Please keep the door shut.
The rest of the page is empty.
Everyone was tired but happy.
I should sleep more.
The soup was far too salty.
The children were noisy, as usual.
He smiled and said nothing.
She laughed about it later.
They left before midnight.
Buy milk and eggs on the way home.
The list is on the fridge.
The lift does not work today.
Only a few people noticed the change.
A second visit is planned.
The result was better than feared.
Experts still argue about the reason.
It became popular after the war.
The road there is steep and winding.
The view from the top is splendid.
There were more questions than answers.
We will see what happens.
The heating makes a strange noise.
Take an umbrella with you.
The bill has been paid.
The old one was thrown away.
Nothing else of interest happened.
The letter arrived a week late.
All seats were taken.
Entry is free for children.
The shop round the corner has closed for good.
My back hurts from carrying boxes.
It smells of fresh paint in here.
The neighbours complained about the music.
The second attempt went well.
A short break would be welcome.
The photographs turned out blurred.
I read half a chapter and fell asleep.
""".strip().splitlines()
)
OPENERS = (
    "By the way, ", "As far as I know, ", "I heard that ", "Please note that ", "According to the notice, ",
    "It is said that ", "Mum says that ", "They told me that ", "For the record, ", "Remember that ",
    "As we all know, ", "The newspaper says that ", "It turns out that ", "Good to know: ", "Also, ", "In fact, ",
    "Since last week, ", "Apparently ", "These days ", "At present ", "I wrote down that ", "Once again: ",
)  # fmt: skip
TAILS = (
    ", as always", " now", " this year", ", which surprised me", ", at least for now", ", so they say", ", I think",
    ", as everybody knows", " these days", " after all", ", believe it or not", " since spring", ", and that is fine",
    " and nobody minds", ", which is rare", ", as the label says", " and the others do not", " and seems content",
    " according to the list", ", no more and no less", ", so plan for that", " as before",
)  # fmt: skip
HEADINGS = (
    "Notes", "Diary", "To do", "Meeting notes", "Travel guide", "Notice", "News", "List", "Letter", "Report",
    "History", "Overview", "Facts", "Reminder", "Log", "Guide", "Summary", "Announcement", "From the newsletter",
    "Some things to remember", "What I learned today", "Weekly update", "Kitchen board", "About",
)  # fmt: skip
