"""Packs the installed package into a wheel for the Python that it was built for. The target `wheel` of the build
runs it beside what `cmake --install` installs."""

import os

from setuptools import Distribution, find_packages, setup


class Built(Distribution):
    """The module was compiled before: the wheel is for this Python and machine only."""

    def has_ext_modules(self):
        return True


setup(
    name="flotilla",
    version=os.environ["FLOTILLA_VERSION"],
    description="Trains models with very large sparse parameters on ordinary CPUs",
    license="Apache-2.0",
    packages=find_packages(),
    package_data={"": ["*.so", "*.pyi", "py.typed"]},
    python_requires=">=3.11",
    install_requires=["numpy>=1.24"],
    distclass=Built,
    zip_safe=False,
)
