"""`python -m pages._ui.settings_check`: the documented name of `pages._ui.frame.settings_check`.

Start-up scripts of running servers call this name, so it stays although the module has moved.
"""

import sys

from pages._ui.frame.settings_check import main

if __name__ == "__main__":
    sys.exit(main())
