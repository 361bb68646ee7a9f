"""itk-rtk-cuda124 for jit_packages.py: tomography with cones of rays, its
filters on the device against those of the processor."""


def rtk():
    import itk
    import numpy as np
    from device import open_installed
    for library in ("cuda_runtime/lib/libcudart.so.*",
                    "cufft/lib/libcufft.so.*"):
        open_installed("nvidia/" + library)
    from itk import RTK as package

    host, cuda = itk.Image[itk.F, 3], itk.CudaImage[itk.F, 3]
    turns, width = 24, 32
    geometry = package.ThreeDCircularProjectionGeometry.New()
    for i in range(turns):
        geometry.AddProjection(600., 1200., i * 360. / turns)

    def zeros(size, spacing, first_z):
        source = package.ConstantImageSource[host].New()
        source.SetSize(size)
        source.SetSpacing([spacing] * 3)
        source.SetOrigin([-spacing * (n - 1) / 2 for n in size[:2]] + [first_z])
        source.Update()
        return source.GetOutput()

    def seen_as(kind, image):
        other = kind.New()
        other.SetPixelContainer(image.GetPixelContainer())
        other.CopyInformation(image)
        other.SetBufferedRegion(image.GetBufferedRegion())
        other.SetRequestedRegion(image.GetRequestedRegion())
        return other

    def results(on_host, on_device, first, second, prepare=None):
        for made, kind in ((on_host.New(), host), (on_device.New(), cuda)):
            made.SetInput(0, seen_as(kind, first()))
            made.SetInput(1, seen_as(kind, second))
            made.SetGeometry(geometry)
            if prepare is not None:
                prepare(made)
            made.Update()
            yield itk.array_from_image(seen_as(host, made.GetOutput())).copy()

    rays = lambda: zeros([width, width, turns], 8., 0.)
    volume = lambda: zeros([24, 24, 24], 5., -57.5)

    def ellipsoid(kind, image):
        made = kind[host, host].New()
        made.SetInput(image)
        made.SetDensity(2.)
        made.SetAxis([40., 30., 50.])
        made.SetCenter([5., 3., 0.])
        if kind is package.RayEllipsoidIntersectionImageFilter:
            made.SetGeometry(geometry)
        made.Update()
        return made.GetOutput()

    seen = ellipsoid(package.RayEllipsoidIntersectionImageFilter, rays())
    body = ellipsoid(package.DrawEllipsoidImageFilter, volume())

    def no_window(made):
        made.GetRampFilter().SetTruncationCorrection(0.)
        made.GetRampFilter().SetHannCutFrequency(0.)

    # Near the edges the two interpolate differently.
    inner = (slice(6, 18),) * 3
    a, b = results(package.FDKConeBeamReconstructionFilter[host],
                   package.CudaFDKConeBeamReconstructionFilter, volume, seen,
                   no_window)
    assert abs(a[12, 12, 12] - 2) < 0.01, a[12, 12, 12]
    np.testing.assert_allclose(b[inner], a[inner], atol=0.01)
    a, b = results(package.BackProjectionImageFilter[host, host],
                   package.CudaBackProjectionImageFilter[cuda], volume, seen)
    # Textures interpolate by weights of 8 bits.
    np.testing.assert_allclose(b[inner], a[inner], rtol=5e-3)
    # Rays are summed by other steps: 2.4 % of the largest at the edge.
    a, b = results(package.JosephForwardProjectionImageFilter[host, host],
                   package.CudaForwardProjectionImageFilter[cuda], rays, body)
    np.testing.assert_allclose(b, a, atol=0.03 * a.max())
