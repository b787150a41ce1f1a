"""``python -m phinmf`` is ``phinmf``."""

from phinmf.cli import main

raise SystemExit(main())
