# dh --with cerberus: see dh_cerberus(1).
use strict;
use warnings;

use Debian::Debhelper::Cerberus;
use Debian::Debhelper::Dh_Lib qw(dpkg_architecture_value);

# Behind dh_strip and dh_dwz, which write files anew. Behind dh_makeshlibs and
# dh_shlibdeps, which are to see what the build linked: a converted file names
# the driver stub by its path, and what it depends on is known here.
insert_after('dh_shlibdeps', 'dh_cerberus');

# Archives and code objects that a build installs itself are no host programs.
add_command_options($_, '-X.kpack', '-X.hsaco') for qw(dh_strip dh_dwz);

# A program that was linked with libcuda.so.1 depends on the stub's package
# (its shlibs file), not on NVIDIA's.
add_command_options('dh_shlibdeps',
    '-l/' . Debian::Debhelper::Cerberus::stub_folder());

# Packages for GPUs that this build is not for are not built.
if (my @left_out = Debian::Debhelper::Cerberus::packages_left_out()) {
    $ENV{DH_OPTIONS} = join(' ', $ENV{DH_OPTIONS} // (),
        map { "-N$_" } @left_out);
}

1;
