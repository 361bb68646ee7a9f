# Runs a command as one whom file modes bind, which root is not by itself.
if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
caps=-dac_override,-dac_read_search
exec setpriv --bounding-set $caps --inh-caps $caps "$@"
