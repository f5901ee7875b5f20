"""Holds a small thesaurus: words, each with some that mean nearly the same."""

from __future__ import annotations

from collections.abc import Mapping

_LINES = """
big: large, huge, vast, great, giant, massive, enormous
small: little, tiny, minute, slight, compact, miniature, petite
fast: quick, rapid, swift, speedy, brisk, hasty
slow: unhurried, sluggish, gradual, leisurely, plodding, lazy
happy: glad, cheerful, merry, joyful, content, pleased
sad: unhappy, gloomy, sorrowful, downcast, mournful, dejected
angry: cross, furious, irate, enraged, annoyed, livid, irked
calm: peaceful, placid, serene, tranquil, still, composed
brave: bold, daring, fearless, valiant, courageous, gallant, plucky
afraid: scared, frightened, fearful, alarmed, timid, anxious
clever: smart, bright, able, sharp, gifted, astute
foolish: silly, unwise, absurd, senseless, daft, rash, idiotic
strong: sturdy, powerful, robust, mighty, tough, hardy, sound
weak: feeble, frail, faint, delicate, fragile, puny, infirm
rich: wealthy, affluent, prosperous, moneyed, flush, loaded
poor: needy, penniless, destitute, impoverished, broke, bankrupt, deprived
old: aged, ancient, elderly, antique, venerable, timeworn
new: fresh, recent, modern, novel, current, unused
easy: simple, effortless, plain, painless, light, smooth
hard: difficult, demanding, arduous, taxing, testing, tiring
bright: shining, radiant, brilliant, gleaming, vivid, glowing
dark: dim, dusky, shadowy, unlit, murky, sunless
loud: noisy, booming, deafening, thunderous, blaring, ringing
quiet: silent, hushed, soundless, muted, subdued, noiseless
begin: start, commence, launch, open, initiate, instigate
end: finish, conclude, close, stop, terminate, cease
make: build, create, produce, construct, form, fashion
break: shatter, smash, fracture, snap, crack, splinter
find: discover, locate, detect, spot, uncover, unearth
hide: conceal, cover, mask, veil, bury, screen
help: aid, assist, support, serve, back, abet
hinder: obstruct, impede, hamper, block, delay, thwart
look: gaze, glance, peer, watch, stare, observe, view
speak: talk, say, utter, converse, chat, tell
walk: stroll, march, stride, wander, amble, hike
run: sprint, dash, race, jog, gallop, rush
laugh: giggle, chuckle, cackle, snigger, chortle, titter
cry: weep, sob, wail, whimper, howl, bawl
gather: collect, assemble, amass, hoard, muster, stack
scatter: spread, strew, sprinkle, disperse, sow, fling, litter
house: home, dwelling, residence, abode, lodging, cottage, villa
road: street, lane, avenue, path, track, highway, route
friend: companion, ally, mate, comrade, pal, partner, chum
enemy: foe, rival, opponent, adversary, attacker, opposer
journey: trip, voyage, trek, tour, passage, expedition
gift: present, donation, offering, token, favour, bounty, grant
mistake: error, slip, blunder, fault, lapse, oversight
answer: reply, response, solution, retort, rejoinder, riposte
idea: thought, notion, concept, plan, belief, theory
danger: peril, risk, hazard, threat, menace, pitfall, jeopardy
"""


def _read(lines: str) -> dict[str, tuple[str, ...]]:
    pairs = (line.split(": ") for line in lines.strip().splitlines())
    return {word: tuple(synonyms.split(", ")) for word, synonyms in pairs}


THESAURUS: Mapping[str, tuple[str, ...]] = _read(_LINES)
"""Synonyms by word."""


def value_of(word: str) -> int:
    """Returns the value of a word: the sum of the code points of its characters."""
    return sum(map(ord, word))
