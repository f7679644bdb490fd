"""Taking a trained model along: to the other pages, to a file, and back from a file."""

import streamlit as st

from owi_core.checkpoints import FILE_NAME, MAX_UPLOAD_BYTES
from owi_core.jobs.runs import Run
from pages._labs.train.form import corpus_of
from pages._ui.base.page import Frame
from pages._ui.session.jobs import SessionJobs
from pages._ui.session.models import use_model, use_uploaded

_TAKEN = "train.taken"
MEGABYTE = 1_000_000


def take_along(page: Frame, jobs: SessionJobs, run: Run | None) -> None:
    """Draw "use it on the other pages", download and upload."""
    st.subheader(page.t("take.heading"), anchor=False)
    left, middle, right = st.columns([1, 1, 1], vertical_alignment="top")
    with left:
        _use(page, jobs, run)
    with middle:
        _download(page, run)
    with right:
        _upload(page, jobs)


def _use(page: Frame, jobs: SessionJobs, run: Run | None) -> None:
    ready = run is not None and run.has_model
    if st.button(page.t("take.use"), disabled=not ready, key="train.use", width="stretch") and run:
        use_model(run.folder, jobs.folder)
        st.toast(page.t("take.used"))
        st.rerun()  # the line under the title names the model


def _download(page: Frame, run: Run | None) -> None:
    if run is None or not run.has_model:
        st.button(page.t("take.download"), disabled=True, key="train.no_download", width="stretch")
        return
    st.download_button(
        page.t("take.download"),
        (run.folder / FILE_NAME).read_bytes,
        file_name=f"owi-{run.experiment}-{corpus_of(run.params)}-{run.id}.safetensors",
        mime="application/octet-stream",
        on_click="ignore",
        key="train.download",
        width="stretch",
    )
    size = (run.folder / FILE_NAME).stat().st_size
    if size > MAX_UPLOAD_BYTES:
        values = {"size": size / MEGABYTE, "limit": MAX_UPLOAD_BYTES / MEGABYTE}
        st.caption(":material/warning: " + page.t("take.too_large", **values))


def _upload(page: Frame, jobs: SessionJobs) -> None:
    file = st.file_uploader(
        page.t("take.upload"),
        type=["safetensors"],
        max_upload_size=MAX_UPLOAD_BYTES // MEGABYTE,
        key="train.upload",
        help=page.t("take.upload_help"),
    )
    if file is None:
        return
    taken, values = st.session_state.get(_TAKEN, ("", {}))
    if taken == file.file_id:
        st.success(page.t.markdown("take.uploaded", **values))
        return
    bundle = use_uploaded(file.getvalue(), jobs.folder)
    values = {"experiment": bundle.note.get("experiment"), "n": bundle.tokenizer.vocab_size}
    st.session_state[_TAKEN] = file.file_id, values
    st.rerun()  # the line under the title names the model
