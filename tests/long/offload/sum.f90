program sums
  implicit none
  integer, parameter :: n = 2000
  real(8) :: x(n), y(n), dot, want
  integer :: i, bad
  do i = 1, n
    x(i) = i * 0.25d0; y(i) = n - i
  end do
  dot = 0
  !$omp target teams distribute parallel do map(to: x) map(tofrom: y) reduction(+: dot)
  do i = 1, n
    y(i) = y(i) + 2 * x(i)
    dot = dot + x(i) * y(i)
  end do
  bad = 0; want = 0
  do i = 1, n
    if (y(i) /= n - i + 0.5d0 * i) bad = bad + 1
    want = want + x(i) * y(i)
  end do
  if (dot /= want) bad = bad + 1
  if (bad == 0) then
    print *, "PASS"
  else
    print *, bad, dot, want, "FAIL"
    stop 1
  end if
end program
