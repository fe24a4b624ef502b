"""Topics of made documents: words that no other text of a test has."""

from tests.factories import ingest, make_admin, make_set

WORDS = [
    "antenna",
    "battery",
    "carrier",
    "downlink",
    "encoder",
    "filter",
    "gateway",
    "handover",
    "inverter",
    "jumper",
    "klystron",
    "laser",
    "modem",
    "network",
    "oscillator",
    "paging",
    "quartz",
    "repeater",
    "scrambler",
    "turbine",
    "uplink",
    "varistor",
    "waveguide",
    "xenon",
    "yoke",
    "zener",
    "amplifier",
    "beacon",
]

ASKING = "Dear colleague, could you please tell me who of our friendly department would be responsible"


def letters_make():
    """Every question is asked with words that a dozen other documents have."""
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    told = {word: f"{word.capitalize()} work: see shelf {word}." for word in WORDS}
    noise = {
        f"letter-{n}": f"{ASKING} for letter {n}? Dear friendly colleague, please tell our responsible department."
        for n in range(12)
    }
    ingest(admin, home, **told, **noise)
    return admin, home
