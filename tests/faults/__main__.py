"""`make faults`: many rounds of kill -9 against the real product. Exit code 1 at the first loss, the data are kept."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.faults.product import SUPERVISOR, Product
from tests.faults.rounds import Plan, World
from tests.services_plugin import models_folder

MODELS = models_folder()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--documents", type=int, default=200, help="in each round")
    parser.add_argument("--part", help="kill this part only")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ragsite-faults-"))
    product = Product(folder / "data", MODELS)
    product.start()
    try:
        world = World(product)
        world.prepare()
        parts = [arguments.part] if arguments.part else sorted(product.parts())
        print(f"seed {arguments.seed}, parts: {', '.join(parts)}; {SUPERVISOR} is started again by us", flush=True)
        for number in range(arguments.first, arguments.first + arguments.rounds):
            plan = Plan.of(seed=arguments.seed, number=number, parts=parts)
            print(world.run(plan, documents=arguments.documents), flush=True)
    except AssertionError as error:
        print(f"\nLOST: {error}\nThe data and logs are in {product.data_dir}.", flush=True)
        return 1
    finally:
        product.stop()
    shutil.rmtree(folder)
    print(f"{arguments.rounds} rounds, nothing lost.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
