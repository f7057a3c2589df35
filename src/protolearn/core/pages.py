"""Where the page of an estimator is: the link in the box that a notebook shows."""

from __future__ import annotations

SITE = "https://protolearn.github.io/protolearn"
# Folders whose estimators are imported from protolearn itself.
_AT_THE_TOP = ("auto", "estimators", "reduction")


class HasPage:
    """The attributes that scikit-learn asks for the link; stands left of `BaseEstimator`."""

    _doc_link_module = "protolearn"
    _doc_link_template = SITE + "/reference/generated/protolearn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        room = type(self).__module__.split(".")[1]
        name = type(self).__name__
        return {"name": name if room in _AT_THE_TOP else f"{room}.{name}"}
