"""20 Newsgroups: words, gain, weights, and the posts themselves."""

from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import mutual_info_score
from sklearn.neighbors import NearestCentroid
from sklearn.utils import Bunch

from reproduction import newsgroups
from reproduction.datasets import data_folder, load

POST = "From: Ann <ann@uni.edu>\nSubject: Re: Hopping rabbits\nLines: 3\n\nThe rabbits were hopping: 42 of them.\n"


def posts_about(random, topic, n):
    words = {"engine": "engine wheel brakes car roads", "pitcher": "pitcher bat inning game fans"}[topic].split()
    return [f"Subject: {topic}\n\n" + " ".join(random.choice([*words, "the", "people"], 12)) for _ in range(n)]


@pytest.fixture
def small():
    random = np.random.default_rng(0)
    posts = posts_about(random, "engine", 30) + posts_about(random, "pitcher", 30)
    y = np.repeat([0, 1], 30)
    return posts, y, np.tile([False, False, True], 20)


def test_tags_go_and_words_stay():
    found = newsgroups.words(POST)
    assert " ".join(found) == "ann re hopping rabbits the rabbits were hopping of them"


def test_a_colon_in_the_text_is_no_tag():
    assert newsgroups.words("Subject: one\n\nNote: two") == ["one", "note", "two"]


def test_stems_without_stop_words():
    assert newsgroups.stems_of()(POST) == ["ann", "hop", "rabbit", "rabbit", "hop"]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_information_gain_is_mutual_information_of_presence_and_class(n_classes):
    random = np.random.default_rng(n_classes)
    y = random.integers(0, n_classes, 60)
    counts = random.poisson(0.4 + 0.5 * (y[:, None] == random.integers(0, n_classes, 12)))
    counts[:, 0], counts[:, 1] = 0, 1
    expected = [mutual_info_score(y, column > 0) for column in counts.T]
    np.testing.assert_allclose(newsgroups.information_gain(sp.csr_array(counts), y), expected, atol=1e-12)
    stored_zero = sp.csr_array(counts)
    stored_zero.data[:5] = 0
    dense = stored_zero.toarray()
    expected = [mutual_info_score(y, column > 0) for column in dense.T]
    np.testing.assert_allclose(newsgroups.information_gain(stored_zero, y), expected, atol=1e-12)


def test_weights_are_tf_idf_of_length_one(small):
    posts, y, is_test = small
    X, terms = newsgroups.prepare(posts, y, is_test, n_features=6)
    assert sp.issparse(X)
    assert terms == sorted(terms)
    analyse = newsgroups.stems_of()
    counts = np.array([[analyse(post).count(term) for term in terms] for post in posts])
    reference = TfidfTransformer(smooth_idf=False).fit(counts[~is_test])
    # scikit-learn adds 1 to ln(N / n); Salton's weight does not.
    reference.idf_ = reference.idf_ - 1.0
    np.testing.assert_allclose(X.toarray(), reference.transform(counts).toarray(), atol=1e-12)


def test_gain_is_of_the_training_posts_only(small):
    posts, y, is_test = small
    telling = is_test & (y == 1)
    changed = [post + " zebra" if told else post for post, told in zip(posts, telling, strict=True)]
    assert "zebra" not in newsgroups.prepare(changed, y, is_test, n_features=8)[1]
    assert "pitcher" in newsgroups.prepare(posts, y, is_test, n_features=2)[1]


def test_a_post_without_any_chosen_word_is_a_row_of_zeros(small):
    posts, y, is_test = small
    X, _ = newsgroups.prepare([*posts, "Subject: \n\nnothing"], np.append(y, 0), np.append(is_test, True), 4)
    assert X[[-1]].nnz == 0


@pytest.mark.papers_data
def test_posts_of_the_folder_are_checked(tmp_path, monkeypatch):
    with np.load(newsgroups.file_of("20ng_raw")) as stored:
        arrays = {key: stored[key].copy() for key in ("text", "offsets", "y", "is_test")}
    monkeypatch.setenv("PROTOLEARN_DATA", str(tmp_path))
    arrays["text"][123456] = ord("#")
    np.savez(tmp_path / "20ng_raw.npz", **arrays)
    with pytest.raises(ValueError, match="are not the 18846 of the bydate version"):
        newsgroups.raw_posts()
    np.savez(tmp_path / "20ng_raw.npz", y=arrays["y"])
    with pytest.raises(ValueError, match="does not hold posts"):
        newsgroups.raw_posts()


def test_no_folder_and_no_network(tmp_path, monkeypatch):
    def fetch(**options):
        raise URLError("Name or service not known")

    monkeypatch.setenv("PROTOLEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch)
    with pytest.raises(FileNotFoundError, match=r"cannot download the posts .*put 20ng_raw.npz into a folder"):
        newsgroups.raw_posts()


@pytest.mark.papers_data
def test_a_download_has_the_same_posts_in_any_order(tmp_path, monkeypatch):
    posts, y, is_test = newsgroups.raw_posts()
    order = np.random.default_rng(0).permutation(len(posts))

    def fetch(subset, **options):
        rows = [i for i in order if is_test[i] == (subset == "test")]
        # The archive may end its lines otherwise.
        return Bunch(data=[posts[i].replace("\n", "\r\n") for i in rows], target=y[rows])

    monkeypatch.setenv("PROTOLEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch)
    assert newsgroups.raw_posts()[2].sum() == 7532
    assert data_folder() == tmp_path


@pytest.mark.papers_data
def test_the_set_of_the_paper_is_sparse_and_learnable():
    data = load("newsgroups", np.float32)
    assert sp.issparse(data.X)
    assert data.X.shape == (18846, 1000)
    assert data.X.dtype == np.float32
    X, y, X_test, y_test = data.split()
    assert (len(y), len(y_test)) == (11314, 7532)
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0, atol=1e-5)
    model = NearestCentroid().fit(X, y)
    assert model.score(X_test, y_test) > 0.65, "the paper's seven methods, which learn, get 73.7 to 74.8 %"
