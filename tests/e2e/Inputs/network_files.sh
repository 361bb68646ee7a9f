# network_files.sh: what tests/e2e/network-files.test has done in this folder.
set -e
# A file that is replaced while it runs.
cp /usr/bin/sleep app
./app 100 &
cerberus convert -q ../tree/app -o app --arch gfx1100 --cache cache
kill $!
cerberus convert -q ../tree/lib/one.so -o lib.so --arch gfx1100 --cache cache
cerberus convert -q ../tree/app -o app --arch gfx1100 --cache cache
cerberus pack-tree -q ../tree packed --arch gfx1100 --cache cache
cerberus verify ../tree packed
cerberus kpack merge -q --group both .kpack/app-gfx1100.kpack \
  .kpack/lib.so-gfx1100.kpack -o both.kpack
