"""Lists everyday words for questions about their order. All are lower case, so there is one alphabetical order."""

_WORDS = """
acorn almond amber anchor apron arrow attic autumn badge bakery barrel basket beacon bicycle blanket bottle bramble
branch brick bridge bucket butter button cabin candle canoe carpet castle cellar chalk cherry chimney cinder clover
cobweb compass copper cotton cradle cricket curtain cushion dagger daisy desert dolphin donkey drawer drizzle eagle
easel ember engine fable falcon feather fennel fiddle flannel flask forest fossil fountain garlic garnet ginger
glacier goblet grape gravel hammer harbour hazel helmet heron honey hornet icicle island ivory jacket jasmine jigsaw
juniper kennel kettle kitten ladder lagoon lantern lemon lettuce lizard locket magnet mallet maple marble meadow
mitten mosaic mushroom napkin needle nettle nutmeg oatmeal orchard otter oyster paddle parcel parsley pebble pepper
pigeon pillow plaster pocket puddle quarry quilt rabbit radish raven ribbon river rocket saddle saffron sandal scarf
shovel shutter silver spindle spinach squirrel stable stirrup sugar swallow tablet teapot thimble thistle timber
tulip tunnel turnip turtle umbrella valley velvet violin walnut whistle willow window wizard yarrow zipper
"""

WORDS = tuple(_WORDS.split())
