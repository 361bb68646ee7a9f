#!/usr/bin/env python3
"""Opens reports (--report) in headless Chromium and looks at them.

usage: report_pages.py [--build DIR] [--chromium FILE] [--shots DIR]

Needs Chromium (Debian's package `chromium`), and of PyPI `playwright`, which
drives it, and `axe-playwright-python`, whose rules for accessibility are run.
The pages are those of the test Report.PagesForBrowsers: 2,000 kernels for two
targets, names that are markup, a plain one, one of a run that failed. Each is
opened in light and dark, 400 pixels wide, without scripts, and printed:

- axe finds nothing to say against it, contrast included;
- no name of a kernel did anything, nothing was loaded, nothing was said on the
  console;
- all of it is there without scripts;
- sorting and searching do what they say, by mouse and by keyboard;
- the page is never wider than the window.

--shots keeps pictures. Prints what it took; exit code 1 if anything failed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGES = ["plain", "failed", "hostile", "many"]
LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 400, "height": 800}},
    "without-scripts": {"java_script_enabled": False},
}
failed = []


def check(what, holds):
    if not holds:
        failed.append(what)
        print("FAIL", what)


def opened(browser, folder, name, look):
    """A page with what it did."""
    context = browser.new_context(
        **({"viewport": {"width": 1280, "height": 900}} | LOOKS[look]))
    page = context.new_page()
    page.did = []
    page.on("console", lambda message: page.did.append(message.text))
    page.on("pageerror", lambda error: page.did.append(str(error)))
    page.on("dialog", lambda dialog: page.did.append(dialog.message))
    page.on("request", lambda request: page.did.append(request.url))
    begin = time.monotonic()
    page.goto("file://%s/%s.html" % (folder, name))
    page.took = time.monotonic() - begin
    return page


def look_at(browser, folder, name, look, shots):
    page = opened(browser, folder, name, look)
    what = "%s, %s" % (name, look)
    check(what + ": loads or says something: %s" % page.did[1:],
          page.did == ["file://%s/%s.html" % (folder, name)])
    if look == "without-scripts":
        kernels = page.locator("table.kernels tbody tr")
        expected = {"many": 4000, "hostile": 7, "plain": 1, "failed": 0}[name]
        check(what + ": rows", kernels.count() == expected)
        check(what + ": controls that do nothing are hidden",
              page.locator("button:visible, form:visible").count() == 0)
    else:
        check(what + ": the title is its own", "cerberus" in page.title())
        check(what + ": as wide as the window", page.evaluate(
            "document.documentElement.scrollWidth <= innerWidth"))
    if look != "without-scripts" and name != "many":
        for rule in Axe().run(page).response["violations"]:
            check("%s: %s: %s" % (what, rule["id"],
                                  [node["html"][:90] for node in rule["nodes"]][:3]),
                  False)
    if shots:
        page.screenshot(path=os.path.join(shots, "%s-%s.png" % (name, look)),
                        full_page=name != "many")
    print("%-28s %.2f s" % (what, page.took))
    page.context.close()


def column(page, number):
    """The numbers of the kernels' rows that are shown."""
    return page.evaluate(
        "n => [...document.querySelectorAll('table.kernels tbody tr')]"
        ".filter(row => !row.hidden)"
        ".map(row => parseInt(row.cells[n].textContent))", number)


def use(browser, folder):
    page = opened(browser, folder, "many", "light")
    heads = page.locator("table.kernels thead th")
    vgprs = heads.filter(has_text="VGPRs").first
    at = heads.all_inner_texts().index(vgprs.inner_text())
    begin = time.monotonic()
    vgprs.locator("button").click()
    took = time.monotonic() - begin
    numbers = column(page, at)
    check("sorted downwards", numbers == sorted(numbers, reverse=True))
    check("says so", vgprs.get_attribute("aria-sort") == "descending")
    # By keyboard: the button has the focus.
    page.keyboard.press("Enter")
    numbers = column(page, at)
    check("sorted upwards", numbers == sorted(numbers))
    check("says so, too", vgprs.get_attribute("aria-sort") == "ascending")
    heads.first.locator("button").click()
    check("one column is the sorted one", page.locator("[aria-sort]").count() == 1)
    print("sorting 4,000 rows           %.2f s" % took)

    page.get_by_label("Words in any column").fill("transform<17 gfx942")
    page.get_by_text("111 of 4000 rows").wait_for(timeout=20000)
    check("found", len(column(page, at)) == 111)
    page.get_by_label("Words in any column").fill("")
    page.get_by_label("Target", exact=True).select_option("gfx1100")
    page.get_by_text("2000 of 4000 rows").wait_for(timeout=20000)
    page.context.close()

    page = opened(browser, folder, "plain", "light")
    page.keyboard.press("Tab")
    check("the first stop skips to the report",
          page.evaluate("document.activeElement.textContent")
          == "Skip to the report")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    check("all is reached with the keyboard: %s" % reached,
          {"A", "BUTTON", "INPUT", "SELECT", "DIV"} <= reached)
    page.context.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--shots")
    args = parser.parse_args()
    if args.shots:
        os.makedirs(args.shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run(
            [os.path.join(args.build, "tests/cli_test"), "--gtest_brief=1",
             "--gtest_filter=Report.PagesForBrowsers"],
            env=os.environ | {"CERBERUS_TEST_REPORTS": folder}, check=True)
        # As root, as in containers, it needs to be told.
        browser = driver.chromium.launch(
            executable_path=args.chromium,
            args=["--no-sandbox"] if os.geteuid() == 0 else [])
        for name in PAGES:
            for look in LOOKS:
                look_at(browser, folder, name, look, args.shots)
        use(browser, folder)
        page = opened(browser, folder, "hostile", "light")
        page.pdf(path=os.path.join(args.shots or folder, "hostile.pdf"))
        browser.close()
    print("%d failed" % len(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
