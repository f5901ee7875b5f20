"""Holds the words that questions are made of."""

from __future__ import annotations

from collections.abc import Mapping

NAMES = (
    *("Ada", "Bruno", "Carla", "Dmitri", "Esra", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Liam"),
    *("Mira", "Nils", "Olga", "Pablo", "Quinn", "Rosa", "Stefan", "Tamar", "Umberto", "Vera", "Wanda", "Yusuf"),
)

UNITS = (
    ("A plank has a length of", "metres", "centimetres", 100),
    ("A road has a length of", "kilometres", "metres", 1000),
    ("A sack of rice weighs", "kilograms", "grams", 1000),
    ("A truck carries", "tonnes", "kilograms", 1000),
    ("A jug holds", "litres", "millilitres", 1000),
    ("A film takes", "hours", "minutes", 60),
    ("A song takes", "minutes", "seconds", 60),
    ("An expedition takes", "days", "hours", 24),
    ("A line on a map measures", "centimetres", "millimetres", 10),
)
"""Beginning of a sentence, a larger and a smaller unit, and how many of the smaller are in one of the larger."""

PACKED = (
    ("apples", "baskets"),
    ("books", "shelves"),
    ("bottles", "crates"),
    ("candles", "boxes"),
    ("chairs", "rows"),
    ("coins", "purses"),
    ("eggs", "cartons"),
    ("marbles", "bags"),
    ("pencils", "cups"),
    ("stamps", "pages"),
)

DESCRIBED: Mapping[str, str] = {
    "anchor": "The heavy metal hook that keeps a ship in its place",
    "beehive": "The box in which honey bees are kept",
    "bridge": "What is built so that a road can cross a river",
    "broom": "The brush with a long handle for sweeping floors",
    "calendar": "The table that shows the days and months of a year",
    "candle": "A stick of wax with a wick that is burnt for light",
    "chimney": "The pipe through which the smoke leaves a house",
    "compass": "The instrument whose needle points north",
    "crutch": "The support under the arm of somebody with a hurt leg",
    "envelope": "The paper cover that a letter is sent in",
    "faucet": "What is turned to let water run into a sink",
    "glove": "The piece of clothing that has a part for each finger",
    "hammer": "The tool that drives nails into wood",
    "helmet": "The hard hat that protects the head of a cyclist",
    "kettle": "The vessel with a spout in which water is boiled for tea",
    "ladder": "Two long bars with rungs between them, for climbing up",
    "lighthouse": "The tower on a coast whose lamp guides ships",
    "mirror": "The piece of glass in which people see themselves",
    "needle": "The thin pointed piece of metal that pulls thread through cloth",
    "oven": "The heated chamber in which bread is baked",
    "parachute": "The large cloth that slows the fall of somebody who jumps out of an aeroplane",
    "pillow": "The soft cushion under the head of a sleeper",
    "pyramid": "The solid with a square base and four triangular sides",
    "saddle": "The seat on the back of a horse",
    "scissors": "The tool with two blades that cuts paper",
    "stethoscope": "The instrument with which doctors listen to a heart",
    "telescope": "The instrument through which astronomers look at stars",
    "thermometer": "The instrument that measures temperature",
    "umbrella": "What is held over the head to stay dry in the rain",
    "wheelbarrow": "The cart with one wheel and two handles for moving earth",
}
"""Descriptions of things by name, in which the names don't occur."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "animals": ("badger", "camel", "heron", "lizard", "otter", "salmon", "tiger", "walrus"),
    "colours": ("beige", "crimson", "green", "indigo", "purple", "scarlet", "turquoise", "yellow"),
    "musical instruments": ("accordion", "bassoon", "cello", "flute", "harp", "oboe", "trumpet", "violin"),
    "pieces of furniture": ("armchair", "bookcase", "cupboard", "desk", "sofa", "stool", "table", "wardrobe"),
    "planets": ("Earth", "Jupiter", "Mars", "Mercury", "Neptune", "Saturn", "Uranus", "Venus"),
    "trees": ("beech", "birch", "fir", "larch", "maple", "oak", "pine", "willow"),
    "vegetables": ("broccoli", "cabbage", "carrot", "leek", "onion", "parsnip", "spinach", "turnip"),
    "vehicles": ("bus", "canoe", "ferry", "helicopter", "motorcycle", "tractor", "tram", "van"),
}
