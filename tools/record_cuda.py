"""Record the listings of the course's CUDA sources for those who do not have NVRTC (`python -m tools.record_cuda`).

Writes course_lib/data/cuda_listings.json with what NVRTC and the tools in Triton's wheel make of course_lib/data/*.cu. To
be run after a change to one of them, in an environment with the extra "cuda"; a test says when it is due.
"""

from __future__ import annotations

import datetime
import json

from course_lib.machine.cuda import INSTALL, LISTINGS, SOURCES, has_nvrtc, record
from course_lib.machine.specs import ARCHITECTURES


def main() -> None:
    if not has_nvrtc():
        raise SystemExit(f"NVRTC is missing: {INSTALL}")
    today = datetime.date.today().isoformat()
    targets = [target for target, architecture in ARCHITECTURES.items() if architecture.vendor == "nvidia"]
    listings = [record(name, target, today) for name in SOURCES for target in targets]
    LISTINGS.write_text(json.dumps(listings, indent=1) + "\n", encoding="utf-8")
    print(f"{len(listings)} listings in {LISTINGS}")


if __name__ == "__main__":
    main()
