"""Holds the words of the office's data and of the requests."""

from __future__ import annotations

DOMAIN = "hollowbrook.example"
USER = ("Mara Lindqvist", f"mara.lindqvist@{DOMAIN}", "Head of Operations")

FIRST_NAMES = (
    *("Adela", "Bastian", "Chiara", "Dmitri", "Elspeth", "Farid", "Greta", "Hassan", "Ingrid", "Joaquin"),
    *("Keiko", "Leander", "Mireille", "Nikhil", "Odette", "Pavel", "Quentin", "Rosalind", "Sanjay", "Tamsin"),
    *("Umberto", "Valeria", "Wendell", "Ximena", "Yusuf", "Zofia", "Amadou", "Brigitte", "Cedric", "Dalia"),
    *("Emeka", "Fiona", "Gideon", "Halima", "Isolde", "Jarek", "Kamala", "Lorenz", "Miyu", "Noor"),
)
LAST_NAMES = (
    *("Abernathy", "Bellweather", "Castellan", "Dunmore", "Eriksen", "Falkner", "Grigoryan", "Hawthorne"),
    *("Iyer", "Jankowski", "Kowalczyk", "Lachance", "Mbeki", "Novotny", "Okonkwo", "Pemberton", "Quispe"),
    *("Rasmussen", "Szabo", "Takahashi", "Ueda", "Valverde", "Whitlock", "Xu", "Yilmaz", "Zamora"),
    *("Ashdown", "Barrientos", "Chowdhury", "Delacroix", "Endicott", "Fontaine", "Gallagher", "Hidalgo"),
    *("Ivanov", "Joubert", "Kessler", "Lindholm", "Marchetti", "Nakamura"),
)
ROLES = (
    *("Accountant", "Analyst", "Copywriter", "Designer", "Engineer", "Office manager", "Product manager"),
    *("Recruiter", "Sales manager", "Support agent", "Team lead", "Tester"),
)

TOPICS = (
    *("spring fair", "office move", "supplier contract", "travel budget", "customer survey", "new brochure"),
    *("warehouse inventory", "hiring plan", "data backup", "parking permits", "product launch", "training day"),
    *("quarterly figures", "coffee machine", "web shop", "privacy notice", "insurance renewal", "price list"),
    *("onboarding guide", "summer party", "printer lease", "safety drill", "newsletter", "partner visit"),
    *("expense rules", "meeting rooms", "phone system", "annual report", "team photo", "trade licence"),
)
SUBJECTS = (
    *("Question about the {}", "The {}: next steps", "Update on the {}", "Please look at the {}"),
    *("Decision needed: {}", "Notes on the {}", "Delay with the {}", "Idea for the {}"),
)
BODIES = (
    "I have gone through the {} and would like to hear what you think.",
    "The {} is nearly ready; two points are still open.",
    "We should settle the {} before the end of the month.",
    "Nobody seems to know who takes care of the {}. Do you?",
    "The costs of the {} are higher than we thought.",
    "Can we talk about the {} some time this week?",
)
NOTES = (
    ("The {}", "Please send me your comments on the {} by {}."),
    ("Your part in the {}", "Could you take over the {} until {}?"),
    ("Status of the {}", "I need a short status of the {} on {}."),
    ("Plan for the {}", "The plan for the {} will be discussed on {}."),
    ("Help with the {}", "Can you spare an hour for the {} on {}?"),
    ("{} is approved", "The {} is approved and starts on {}."),
)
"""Subject and body of emails that the user wants to send. Both have a place for a topic, and the body one for a
weekday."""

REPLIES = (
    "Thank you, I will look into the {} by {}.",
    "Agreed. Let us settle the {} on {}.",
    "I can't decide on the {} before {}.",
    "Please bring the {} to the meeting on {}.",
    "That is fine for the {}, but not later than {}.",
)

MEETINGS = (
    *("Budget review", "Planning round", "Design critique", "Weekly catch-up", "Contract talk", "Demo rehearsal"),
    *("Hiring interview", "Risk check", "Status call", "Retrospective", "Supplier call", "Strategy hour"),
    *("Workload check", "Launch briefing", "Feedback talk", "Training preview"),
)

VERBS = (
    *("Rewrite", "Test", "Document", "Simplify", "Redesign", "Translate", "Review", "Speed up", "Repair"),
    *("Replace", "Measure", "Archive"),
)
THINGS = (
    *("login page", "search index", "invoice export", "welcome screen", "payment form", "image gallery"),
    *("audit log", "password reset", "order history", "colour palette", "error messages", "release notes"),
    *("help centre", "rate limiter", "address book", "landing page", "session cache", "icon set"),
    *("price calculator", "mobile menu", "backup job", "font loading", "cookie banner", "upload dialog"),
    *("report builder", "chat widget", "tax module", "admin console", "map view", "survey form"),
)

COMPANY_FIRST = (
    *("Amber", "Birch", "Cobalt", "Drift", "Ember", "Fern", "Granite", "Heron", "Iron", "Juniper", "Kestrel"),
    *("Lantern", "Maple", "North", "Ochre", "Pine", "Quartz", "River", "Silver", "Thistle"),
)
COMPANY_SECOND = (
    *("Bakery", "Boatyard", "Clinic", "Cycles", "Dental", "Foods", "Freight", "Gardens", "Hotels", "Interiors"),
    *("Joinery", "Lighting", "Mills", "Optics", "Paper", "Robotics", "Schools", "Textiles", "Tours", "Water"),
)
CUSTOMER_NOTES = (
    *("Prefers to be called in the morning.", "Asked for a discount.", "Met at a fair.", "Wants a demo."),
    *("Has a contract until summer.", "Needs an offer in writing.", "Pays late.", ""),
)
