"""The kinds of facts, as short tables; knows words and shapes, and nothing about sentences.

NOUNS   subjects ; noun, other names of it ; shape of the value [; unit]
VERBS   subjects ; auxiliary ; base form ; stated as (first: the answer's form) ; shape ; asked with ; category words
COUNTS  subjects ; auxiliary ; base form ; stated as ; shape ; unit ; how-question [; noun of the measure]
MAKERS  subjects ; past participle ; past tense ; noun of the doer
A leading * keeps a whole kind out of training, for evaluation.
"""

NOUNS = """
person,company,shop ; phone number, telephone number, mobile number, number ; phone
person,company,office ; extension, phone extension, telephone extension ; ext
person,building,office ; door code, entry code, code of the door ; ext
place,building,hut,shop ; wifi password, password of the wifi, wireless password, network password ; password
person,machine,account ; password, login ; password
machine,vehicle,device ; serial number, number on the label ; code
parcel,order ; tracking code, tracking number, parcel number ; code
trip,person ; flight number, flight, number of the flight ; code
trip,hotel,order,event ; booking reference, reference, reference number, booking code ; code
vehicle,person ; number plate, licence plate, registration ; code
person,hotel,office,class ; room, room number ; small
person ; desk, desk number, place in the office ; small
person ; birthday, date of birth, birth date ; date
event,project,order,contract ; date, day ; date
project,contract,homework ; deadline, due date, last day ; date
place,country ; capital, capital city, seat of government ; place
country ; currency, money, coin ; brand
country,place,club ; president, head, leader, chairwoman ; person
project,team,club,class ; leader, head, boss, manager ; person
team ; coach, trainer, manager ; person
person,company,shop ; address, street address, postal address ; address
person ; favourite fruit, best-loved fruit, fruit of choice ; fruit
person ; favourite drink, best-loved drink, usual drink ; drink
person ; favourite colour, best-loved colour ; colour
person ; favourite food, best-loved food, favourite dish ; food
person ; favourite flower, best-loved flower ; flower
person ; favourite animal, best-loved animal ; animal
person ; favourite book, best-loved book, book of the year ; title
person ; favourite sport, best-loved sport ; sport
person ; hobby, pastime, favourite hobby ; hobby
person ; job, profession, occupation, work, trade ; job
person ; instrument, musical instrument ; instrument
person ; shoe size, size ; small
person ; locker, locker number ; small
person,project ; budget, yearly budget ; number ; euros
dish ; secret ingredient, main ingredient, most important ingredient ; food
dish ; baking time, cooking time, time in the oven ; small ; minutes
dish,drink ; price, cost ; small ; euros
transport,trip,event,course ; price, fare, cost, fee ; small ; euros
machine,device,vehicle ; price, cost, retail price ; number ; euros
hut,room ; rent, monthly rent ; number ; euros
building,mountain ; height, total height ; number ; metres
river,trail,bridge ; length, total length ; number ; kilometres
lake ; depth, greatest depth ; number ; metres
animal,machine,device ; weight, mass ; decimal ; kilograms
machine,device ; battery, battery type ; code
device,machine,vehicle ; colour, paint, coat ; colour
machine,device ; maker, manufacturer, producer ; brand
place,country,club ; founder, first leader ; person
place,team,club ; motto, slogan ; thing
place,country,club ; symbol, emblem ; thing
place,country ; population, number of inhabitants ; number
place,country ; main export, most important product, chief export ; thing
country,people ; language, main language, spoken language ; language
transport ; platform, track ; small
transport ; pier, gate, dock ; small
transport ; departure time, time of departure, departure ; clock
transport ; arrival time, time of arrival, arrival ; clock
shop,building,office ; opening time, opening hour ; clock
shop,building,office ; closing time, closing hour ; clock
course,event,class ; starting time, start, beginning ; clock
person,vehicle ; driver, usual driver ; person
animal,person ; name of the dog, dog ; brand
person ; cat, name of the cat ; brand
person ; wife, partner ; person
person ; best friend, closest friend ; person
person ; boss, superior ; person
person ; teacher, mentor ; person
person ; neighbour ; person
person ; doctor, family doctor ; person
person ; home town, birthplace, place of birth ; place
person,company ; headquarters, main office, seat ; place
work ; author, writer ; person
work ; main character, hero, heroine ; person
work ; publisher ; brand
work ; topic, theme, subject matter ; thing
event ; venue, location, meeting place ; place
event ; guest of honour, main guest, special guest ; person
event,class ; topic, theme ; thing
machine,device ; fuel, source of power ; thing
machine ; top speed, speed ; small ; kilometres an hour
machine,person ; code name, nickname ; brand
person ; allergy ; food
person ; medicine, medication ; medicine
account ; balance ; number ; euros
club,gym ; membership fee, yearly fee ; small ; euros
*person ; lucky number ; small
*place ; twin town, partner town ; place
*machine ; inspection date, date of inspection ; date
*event ; dress code ; colour
*animal ; keeper ; person
*building ; architect ; person
"""

VERBS = """
person,animal ; does ; live in ; lives in, resides in, has a flat in, has moved to, is at home in, \
has a house in ; place ; where ; town, place, city, village
person ; does ; work in ; works in, has a job in, has an office in ; place ; where ; town, place, city
person ; was ; born in ; was born in, came into the world in, is a native of ; place ; where ; town, place, city
person ; did ; grow up in ; grew up in, spent a happy childhood in, was brought up in ; place ; where ; town, place, \
village
person ; does ; come from ; comes from, hails from, is originally from ; place ; where ; country, place, town
person ; did ; study in ; studied in, went to university in, was a student in ; place ; where ; city, town
person ; does ; spend the summer in ; spends the summer in, goes on holiday to, \
has a summer house in ; place ; where ; place
person ; does ; work as ; works as, earns a living as, is employed as, has a job as, \
has become ; job ; - ; profession, job
person ; does ; like ; likes, is fond of, enjoys, has a liking for, is keen on ; thing ; - ; thing
person ; does ; like ; likes, loves, is crazy about, cannot get enough of ; food ; - ; food, dish
person ; does ; love ; loves, adores, is in love with ; animal ; - ; animal
person ; does ; hate ; hates, cannot stand, detests, really dislikes ; thing ; - ; thing
person ; is ; afraid of ; is afraid of, fears, is scared of, runs away from ; animal ; - ; animal
person ; is ; allergic to ; is allergic to, cannot eat, reacts badly to, must avoid ; food ; - ; food
person,animal ; does ; eat ; eats, has a meal of, lives on, mostly eats ; food ; - ; food
person ; does ; drink ; drinks, always orders, has a cup of, is drinking ; drink ; - ; drink
person ; does ; play ; plays, practises, has learned to play ; instrument ; - ; instrument
person ; does ; play ; plays, is good at, trains hard for ; sport ; - ; sport, game
person ; does ; collect ; collects, has a collection of, gathers ; thing ; - ; things
person ; does ; sell ; sells, deals in, trades in ; thing ; - ; things
person ; does ; repair ; repairs, mends, fixes ; thing ; - ; things
person ; does ; study ; studies, is reading, takes a degree in ; subject ; - ; subject
person ; does ; teach ; teaches, gives lessons in, is a teacher of ; subject ; - ; subject
person ; does ; drive ; drives, owns, goes to work by ; vehicle ; - ; vehicle
person ; does ; grow ; grows, has planted, raises ; flower ; - ; flower, plant
person ; does ; wear ; wears, is dressed in, likes to put on ; thing ; - ; thing
person ; does ; need ; needs, is short of, asked for, is looking for ; thing ; - ; thing
person ; did ; buy ; bought, got, paid for, came home with ; thing ; - ; thing
person ; did ; lose ; lost, has mislaid, can no longer find ; thing ; - ; thing
person ; did ; find ; found, came across, discovered ; thing ; - ; thing
person ; did ; borrow ; borrowed, took home, was lent ; tool ; - ; tool
person ; did ; bring ; brought, came with, carried in ; food ; - ; food
person ; does ; bring ; brings, will bring, takes care of ; food ; - ; food
person ; did ; recommend ; recommended, suggested, spoke well of ; title ; - ; book, film
person ; did ; write ; wrote, is the author of, has written ; title ; - ; book
person ; did ; paint ; painted, is the painter of ; title ; - ; picture, painting
person ; did ; compose ; composed, is the composer of ; title ; - ; piece, opera
person ; did ; invent ; invented, is the inventor of, came up with ; brand ; - ; machine, thing
person ; did ; win ; won, was given, received ; title ; - ; prize, award
person ; did ; marry ; married, became the husband of, became the wife of ; person ; who ; person
person ; did ; meet ; met, ran into, had lunch with ; person ; who ; person
person ; does ; admire ; admires, looks up to, respects ; person ; who ; person
person ; does ; work for ; works for, is employed by, is on the staff of ; company ; - ; company, firm
person ; does ; speak ; speaks, is fluent in, has learned ; language ; - ; language
person,event,course,shop ; does ; start at ; starts at, begins at, is due to begin at ; clock ; when ; time
event,course,shop ; does ; end at ; ends at, is over at, finishes at ; clock ; when ; time
shop,building,office ; does ; open at ; opens at, unlocks its doors at, lets visitors in from ; clock ; when ; time
shop,building,office ; does ; close at ; closes at, shuts at, locks its doors at ; clock ; when ; time
transport ; does ; leave at ; leaves at, departs at, sets off at, goes at ; clock ; when ; time
transport ; does ; arrive at ; arrives at, gets in at, is due at ; clock ; when ; time
transport ; does ; leave from platform ; leaves from platform, departs from platform, goes from platform ; small ; - ; -
event,course,visit ; is ; on ; is on, takes place on, is planned for, was moved to, \
has been fixed for ; moment ; when ; day
event,course,homework,contract ; is ; due on ; is due on, must be ready on, \
has to be handed in on ; date ; when ; day, date
event,visit ; is ; held on ; is held on, happens on, takes place on ; date ; when ; day, date
event,team ; is ; held in ; is held in, takes place in, happens in ; place ; where ; town, place
place,building,company,club ; was ; founded in ; was founded in, was established in, dates from, goes back to, \
was set up in ; year ; when ; year
building,machine,bridge ; was ; built in ; was built in, was finished in, was completed in, \
dates from ; year ; when ; year
work ; was ; written in ; was written in, appeared in, came out in ; year ; when ; year
person ; was ; born in ; was born in, came into the world in ; year ; when ; year
company,club,club ; is ; based in ; is based in, has its seat in, has its main office in, \
operates from ; place ; where ; town, city, place
building,statue,machine ; does ; stand in ; stands in, can be seen in, is found in, \
is located in ; place ; where ; town, place
river ; does ; rise in ; rises in, begins in, has its source in ; place ; where ; place
tool,thing ; is ; kept in ; is kept in, is stored in, is in, belongs in, lies in ; the spot ; where ; -
tool,thing ; is ; hidden under ; is hidden under, lies under, is underneath ; the spot ; - ; -
machine,building,bridge,tool,device ; is ; made of ; is made of, consists of, was built of, \
is constructed from ; material ; - ; material
dish ; is ; served with ; is served with, comes with, goes well with, is eaten with ; food ; - ; food
dish ; does ; contain ; contains, is made with, has in it, gets its taste from ; food ; - ; ingredient
plant,animal ; does ; smell of ; smells of, gives off a smell of, has the scent of ; fruit ; - ; fruit
animal ; does ; eat ; eats, feeds on, lives on, hunts for ; food ; - ; food
animal ; does ; sleep in ; sleeps in, spends the night in, has its nest in ; the spot ; where ; -
animal,plant ; does ; live in ; lives in, is found in, is native to, can be seen in ; place ; where ; place, region
place,country ; does ; export ; exports, sells abroad, lives from the sale of ; thing ; - ; product
place ; is ; known for ; is known for, is famous for, is proud of, is visited for ; thing ; - ; thing
company ; does ; make ; makes, produces, manufactures, turns out ; thing ; - ; product, things
company,machine ; does ; use ; uses, works with, relies on, depends on ; thing ; - ; thing
machine,device ; does ; run on ; runs on, is powered by, is driven by, gets its energy from ; thing ; - ; fuel
building ; does ; house ; houses, contains, is home to, holds ; thing ; - ; things
team ; does ; wear ; wears, plays in, is dressed in ; colour ; - ; colour
river,trail ; does ; end in ; ends in, reaches its end in, stops in ; place ; where ; place
*person ; does ; whisper about ; whispers about, keeps whispering about ; thing ; - ; thing
*person ; did ; forget ; forgot, left behind ; thing ; - ; thing
*person ; does ; dream of ; dreams of, has dreams of ; thing ; - ; thing
*company ; does ; import ; imports, buys abroad ; thing ; - ; product
*machine ; does ; stop at ; stops at, comes to a halt at ; clock ; when ; time
"""

COUNTS = """
person ; is ; ; is, is already, has reached the age of ; small ; years old ; how old ; age
person,animal ; does ; weigh ; weighs, has a weight of, brings to the scales ; decimal ; kilograms ; how much ; weight
machine,device,thing ; does ; weigh ; weighs, has a weight of ; decimal ; grams ; how much ; weight
machine,device,vehicle ; does ; cost ; costs, is sold for, can be had for, \
has a price of ; number ; euros ; how much ; price
transport,event,course,dish ; does ; cost ; costs, comes to, can be had for ; small ; crowns ; how much ; price
mountain,building ; is ; ; is, rises to, reaches a height of, stands ; number ; metres high ; how high ; height
lake ; is ; ; is, reaches a depth of, goes down ; number ; metres deep ; how deep ; depth
river,trail,bridge ; is ; ; is, has a length of, runs for, stretches over ; number ; kilometres long ; how long ; length
bridge,building,machine ; is ; ; is, measures, has a length of ; number ; metres long ; how long ; length
transport,trip ; does ; take ; takes, needs, lasts ; small ; minutes ; how long ; travel time
course,event,work ; does ; last ; lasts, goes on for, takes ; small ; minutes ; how long ; duration
dish ; does ; bake ; bakes for, stays in the oven for, cooks for, needs ; small ; minutes ; how long ; baking time
place,country ; does ; have ; has, counts, is home to, has a population of ; number ; inhabitants ; - ; population
company ; does ; employ ; employs, has, has a staff of ; number ; people ; - ; staff
company,person ; does ; own ; owns, has, possesses ; small ; houses ; - ; -
person ; does ; have ; has, is the owner of, looks after ; small ; sheep ; - ; -
person ; does ; have ; has, is the parent of, raised ; small ; children ; - ; -
person ; did ; sell ; sold, got rid of, found buyers for ; small ; tickets ; - ; -
person ; did ; buy ; bought, came home with, ordered ; small ; eggs ; - ; -
person ; did ; walk ; walked, went on foot for, covered ; small ; kilometres ; how far ; distance
person ; did ; pay ; paid, had to pay, spent ; number ; euros ; how much ; price
person ; does ; earn ; earns, makes, is paid ; number ; euros ; how much ; pay
building,event ; does ; have ; has, offers, comes with ; number ; seats ; - ; -
building,hotel ; does ; have ; has, counts, offers ; small ; rooms ; - ; -
machine ; does ; need ; needs, uses, burns, consumes ; decimal ; litres ; how much ; consumption
machine ; does ; lift ; lifts, can carry, picks up ; decimal ; tons ; how much ; load
machine,vehicle ; does ; have ; has, runs on, turns ; small ; wheels ; - ; -
place ; is ; ; is, lies, is situated ; small ; kilometres from the sea ; how far ; distance
place ; does ; have ; has, counts, boasts ; small ; bridges ; - ; -
work ; does ; have ; has, runs to, is a book of ; small ; pages ; - ; -
team ; did ; win ; won, took home, collected ; small ; matches ; - ; -
team,club ; does ; have ; has, counts, is made up of ; small ; members ; - ; -
animal ; does ; live ; lives for, reaches an age of, can live ; small ; years ; how long ; lifespan
dish,course ; does ; need ; needs, calls for, asks for, requires ; small ; spoons of sugar ; - ; -
mountain,lake ; does ; cover ; covers, takes up, extends over ; small ; square kilometres ; - ; area
*animal ; does ; have ; has, shows ; small ; stripes ; - ; -
*machine ; does ; print ; prints, turns out ; small ; sheets ; - ; -
"""

MAKERS = """
machine,device ; invented ; invented ; inventor
place,company,club ; founded ; founded ; founder
work ; written ; wrote ; author
work ; translated ; translated ; translator
building,bridge,statue ; designed ; designed ; designer
building,machine,bridge ; built ; built ; builder
animal,plant,lake ; discovered ; discovered ; discoverer
project,team,club,class ; led ; leads ; leader
dish ; cooked ; cooked ; cook
event,project,course ; organised ; organised ; organiser
event,building ; opened ; opened ; opener
thing,machine,vehicle ; repaired ; repaired ; repairer
thing,vehicle ; bought ; bought ; buyer
company,shop ; run ; runs ; director
course,class ; taught ; teaches ; teacher
*machine ; tested ; tested ; tester
*work ; printed ; printed ; printer
"""
