"""python -m koordpy"""

from koordpy.cli.main import main

if __name__ == "__main__":
    main()
