"""Every cap and timeout, named, with its reason. Times are in seconds unless the name says otherwise."""

from pilothouse.types.limits.documents import *
from pilothouse.types.limits.host import *
from pilothouse.types.limits.meaning import *
from pilothouse.types.limits.memory import *
from pilothouse.types.limits.models import *
from pilothouse.types.limits.proposals import *
from pilothouse.types.limits.registries import *
from pilothouse.types.limits.servers import *
from pilothouse.types.limits.tools import *
from pilothouse.types.limits.topics import *
from pilothouse.types.limits.web import *
