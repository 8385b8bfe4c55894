from .alter import ALTERED as ALTERED
from .alter import altered as altered
from .backend import UNKNOWN as UNKNOWN
from .backend import Backend as Backend
from .backend import backend_of as backend_of
from .backend import backends as backends
from .encoding import Encoding as Encoding
from .encoding import Sent as Sent
from .info import MediaInfo as MediaInfo
from .info import probe as probe
from .jobs import Job as Job
from .jobs import prepare as prepare
from .observe import observable_steps as observable_steps
from .observe import unobservable_reason as unobservable_reason
from .policy import Policy as Policy
from .presets import PAPER_FRAMES as PAPER_FRAMES
from .presets import preset as preset
from .sampler import (
    SAMPLER as SAMPLER,
)
from .sampler import (
    Budget as Budget,
)
from .sampler import (
    frame_range as frame_range,
)
from .sampler import (
    matched_budget as matched_budget,
)
from .sampler import (
    sample_count as sample_count,
)
from .sampler import (
    sample_indices as sample_indices,
)
from .signal import SAMPLERS as SAMPLERS
from .signal import Signal as Signal
from .store import FrameStore as FrameStore
from .stored_image import StoredImage as StoredImage
from .timeline import Timeline as Timeline
from .timeline import read_timeline as read_timeline
from .views import Mode as Mode
from .views import Request as Request
from .views import View as View
from .views import view as view
