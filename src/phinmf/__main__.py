"""``python -m phinmf`` is ``phinmf``."""

from phinmf.views.cli import main

raise SystemExit(main())
