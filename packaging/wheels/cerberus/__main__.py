from cerberus import main

main()
