# What dh_cerberus and its sequence both know: which packages of debian/control
# are for GPUs, and for which of them this build is.
package Debian::Debhelper::Cerberus;

use strict;
use warnings;

use Debian::Debhelper::Dh_Lib qw(dpkg_architecture_value error);
use Dpkg::Control::Info;

# In debian/control; dpkg leaves out "XB-" in the package.
our $FIELD = 'X-ROCm-GPU-Architecture';

# Without rocm-target-arch and without packages in debian/control: what
# Cerberus' own tests run on.
our @DEFAULT = qw(gfx1030 gfx1100 gfx1201 gfx90a gfx942 gfx950);

# The stub's folder and that of the archives, as they are installed.
sub stub_folder { return library_folder() . '/cerberus'; }
sub archive_folder { return library_folder() . '/kpack'; }

sub library_folder {
    return 'usr/lib/' . dpkg_architecture_value('DEB_HOST_MULTIARCH');
}

my $control;
sub control { return $control //= Dpkg::Control::Info->new('debian/control'); }

# owner -> { GPU -> package }: foo-gfx1100 belongs to foo, if there is such a
# package. The field of others may be a list: they hold code for several GPUs.
my $devices;
sub devices {
    return $devices if $devices;
    $devices = {};
    for my $stanza (control()->get_packages()) {
        my $package = $stanza->{Package};
        my ($owner, $target) = $package =~ /^(.+?)-(gfx[0-9a-f]+(?:-.+)?)$/
          or next;
        next if not control()->get_pkg_by_name($owner);
        check_stanza($stanza, $owner, $target);
        $devices->{$owner}{$target} = $package;
    }
    return $devices;
}

sub check_stanza {
    my ($stanza, $owner, $target) = @_;
    my $package = $stanza->{Package};
    error("debian/control: $package needs the field XB-$FIELD: $target")
      if ($stanza->{"XB-$FIELD"} // '') ne $target;
    # Code and program are of one build or do not fit.
    error("debian/control: $package needs in its Depends: "
        . "$owner (= \${binary:Version})")
      if ($stanza->{Depends} // '') !~
      /(?:^|,)\s*\Q$owner\E\s*\(\s*=\s*\$\{binary:Version\}\s*\)/;
    return;
}

sub all_devices {
    return map { values %$_ } values %{devices()};
}

# A list of target ids: the GPUs that are meant, each once, in order. Variants
# (gfx90a:xnack+) are in the package of their GPU.
sub gpus {
    my %seen;
    return grep { !$seen{$_}++ } map { s/:.*//r } @_;
}

# The targets that this build is for, as a list, and who says so: the
# environment, the distribution, or debian/control alone.
sub targets {
    my @asked = grep { length } split /[\s,]+/, $ENV{CERBERUS_ARCHES} // '';
    return ('CERBERUS_ARCHES', @asked) if @asked;
    my @distribution = distribution_targets();
    return ('rocm-target-arch', @distribution) if @distribution;
    my %seen;
    my @here = grep { !$seen{$_}++ }
      sort map { keys %$_ } values %{devices()};
    return ('debian/control', @here) if @here;
    return ('nothing else', @DEFAULT);
}

sub distribution_targets {
    return if not grep { -x "$_/rocm-target-arch" }
      split /:/, $ENV{PATH} // '';
    my $said = qx(rocm-target-arch);
    error('rocm-target-arch failed') if $? != 0;
    return split ' ', $said;
}

# Packages that debian/control has for other GPUs.
sub packages_left_out {
    my (undef, @targets) = targets();
    my %wanted = map { $_ => 1 } gpus(@targets);
    my @left_out;
    for my $owner (values %{devices()}) {
        push @left_out,
          map { $owner->{$_} } grep { !$wanted{$_} } keys %$owner;
    }
    return sort @left_out;
}

1;
