"""`python -m pages._ui.lesson_check FILE …`: the documented name of `pages._ui.lessons.check`.

Teachers were given this name, so it stays although the module has moved.
"""

import sys

from pages._ui.lessons.check import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
