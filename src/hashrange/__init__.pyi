# The public names of hashrange: the only list of them.
#
# Type checkers read this file as the interface of the package. At run time `__init__.py` reads it too, and imports a
# name when it is first used. `from module import Name as Name` exports a name; `alias = name` exports it under another
# one, which `from hashrange import *` leaves out.

from hashrange.client.database import AsyncDatabase as AsyncDatabase
from hashrange.client.database import Database as Database
from hashrange.client.database import open_database
from hashrange.client.keyring import Keyring as Keyring
from hashrange.client.kms_keys import KmsKeys as KmsKeys
from hashrange.client.local_keys import LocalKeys as LocalKeys
from hashrange.client.patch import patch_boto3 as patch_boto3
from hashrange.client.remote import Remote as Remote
from hashrange.client.remote import connect as connect
from hashrange.client.retry import is_throttling as is_throttling
from hashrange.client.retry import is_transient as is_transient
from hashrange.client.target import open_target as open_target
from hashrange.client.transport import Transport as Transport
from hashrange.core.clock import Clock as Clock
from hashrange.core.clock import ManualClock as ManualClock
from hashrange.core.clock import SystemClock as SystemClock
from hashrange.core.errors import AccessDeniedException as AccessDeniedException
from hashrange.core.errors import ConditionalCheckFailedException as ConditionalCheckFailedException
from hashrange.core.errors import Conflict as Conflict
from hashrange.core.errors import CorruptFile as CorruptFile
from hashrange.core.errors import CursorInvalid as CursorInvalid
from hashrange.core.errors import DeclarationError as DeclarationError
from hashrange.core.errors import DirectoryInUse as DirectoryInUse
from hashrange.core.errors import DiskFull as DiskFull
from hashrange.core.errors import HandlerFailed as HandlerFailed
from hashrange.core.errors import HashrangeError as HashrangeError
from hashrange.core.errors import InternalServerError as InternalServerError
from hashrange.core.errors import ItemCollectionSizeLimitExceededException as ItemCollectionSizeLimitExceededException
from hashrange.core.errors import LimitExceededException as LimitExceededException
from hashrange.core.errors import MemberFailure as MemberFailure
from hashrange.core.errors import Missing as Missing
from hashrange.core.errors import NotFound as NotFound
from hashrange.core.errors import PlanError as PlanError
from hashrange.core.errors import ProvisionedThroughputExceededException as ProvisionedThroughputExceededException
from hashrange.core.errors import RequestLimitExceeded as RequestLimitExceeded
from hashrange.core.errors import ResourceInUseException as ResourceInUseException
from hashrange.core.errors import ResourceNotFoundException as ResourceNotFoundException
from hashrange.core.errors import SealError as SealError
from hashrange.core.errors import ServiceError as ServiceError
from hashrange.core.errors import StorageError as StorageError
from hashrange.core.errors import StreamTrimmed as StreamTrimmed
from hashrange.core.errors import Taken as Taken
from hashrange.core.errors import ThrottlingException as ThrottlingException
from hashrange.core.errors import TransactionCanceledException as TransactionCanceledException
from hashrange.core.errors import TransactionConflictException as TransactionConflictException
from hashrange.core.errors import TransportError as TransportError
from hashrange.core.errors import Unreadable as Unreadable
from hashrange.core.errors import ValidationException as ValidationException
from hashrange.core.errors import ValueInvalid as ValueInvalid
from hashrange.core.errors import WrittenUnreadable as WrittenUnreadable
from hashrange.faults.faults import Faults as Faults
from hashrange.hosting.system import Host as Host
from hashrange.hosting.system import RunningSystem as RunningSystem
from hashrange.hosting.system import System as System
from hashrange.provision import create_tables as create_tables
from hashrange.schema.declare.marker import Add as Add
from hashrange.schema.declare.marker import Append as Append
from hashrange.schema.declare.marker import At as At
from hashrange.schema.declare.marker import BeginsWith as BeginsWith
from hashrange.schema.declare.marker import Between as Between
from hashrange.schema.declare.marker import ByKey as ByKey
from hashrange.schema.declare.marker import Commas as Commas
from hashrange.schema.declare.marker import Contains as Contains
from hashrange.schema.declare.marker import Discard as Discard
from hashrange.schema.declare.marker import Eq as Eq
from hashrange.schema.declare.marker import Formerly as Formerly
from hashrange.schema.declare.marker import Ge as Ge
from hashrange.schema.declare.marker import Gt as Gt
from hashrange.schema.declare.marker import In as In
from hashrange.schema.declare.marker import IsoMicros as IsoMicros
from hashrange.schema.declare.marker import IsoMillis as IsoMillis
from hashrange.schema.declare.marker import JsonPipes as JsonPipes
from hashrange.schema.declare.marker import Key as Key
from hashrange.schema.declare.marker import Le as Le
from hashrange.schema.declare.marker import Lt as Lt
from hashrange.schema.declare.marker import Millis as Millis
from hashrange.schema.declare.marker import Ne as Ne
from hashrange.schema.declare.marker import Once as Once
from hashrange.schema.declare.marker import OpenList as OpenList
from hashrange.schema.declare.marker import Pipes as Pipes
from hashrange.schema.declare.marker import Prefixed as Prefixed
from hashrange.schema.declare.marker import Seconds as Seconds
from hashrange.schema.declare.marker import Secret as Secret
from hashrange.schema.declare.marker import Stored as Stored
from hashrange.schema.declare.marker import Touched as Touched
from hashrange.schema.declare.marker import Ttl as Ttl
from hashrange.schema.declare.marker import Version as Version
from hashrange.schema.declare.model import Item as Item
from hashrange.schema.declare.model import Model as Model
from hashrange.schema.declare.model import View as View
from hashrange.schema.declare.model import after as after
from hashrange.schema.declare.model import initially as initially
from hashrange.schema.declare.table import ALL as ALL
from hashrange.schema.declare.table import KEYS_ONLY as KEYS_ONLY
from hashrange.schema.declare.table import Gsi as Gsi
from hashrange.schema.declare.table import Lsi as Lsi
from hashrange.schema.declare.table import Provisioned as Provisioned
from hashrange.schema.declare.table import Table as Table
from hashrange.schema.declare.table import camel as camel
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import load
from hashrange.schema.items.sample import sample as sample
from hashrange.schema.pattern.lint import Lint as Lint
from hashrange.schema.pattern.signature import via as via
from hashrange.schema.pattern.signature import where as where
from hashrange.schema.read.read_plan import ReadPlan as ReadPlan
from hashrange.schema.write.write_plan import WritePlan as WritePlan
from hashrange.server.log_format import configure_logging as configure_logging
from hashrange.session.exploration import Exploration as Exploration
from hashrange.session.exploration import ReadCost as ReadCost
from hashrange.session.filters import Filter as Filter
from hashrange.session.item_change import ItemChange as ItemChange
from hashrange.session.parallel_scan import ParallelScan as ParallelScan
from hashrange.session.patterns import Patterns as Patterns
from hashrange.session.reads import Get as Get
from hashrange.session.reads import Latest as Latest
from hashrange.session.reads import Page as Page
from hashrange.session.reads import Query as Query
from hashrange.session.reads import Scan as Scan
from hashrange.session.runnable import Runnable as Runnable
from hashrange.session.session import Event as Event
from hashrange.session.session import Hook as Hook
from hashrange.session.session import Session as Session
from hashrange.session.stream_consumer import Consumer as Consumer
from hashrange.session.stream_consumer import DeadLetter as DeadLetter
from hashrange.session.telemetry import trace_calls as trace_calls
from hashrange.session.transact import Transaction as Transaction
from hashrange.session.writes import Delete as Delete
from hashrange.session.writes import Ensure as Ensure
from hashrange.session.writes import NeverRun as NeverRun
from hashrange.session.writes import Put as Put
from hashrange.session.writes import Update as Update
from hashrange.session.writes import Upsert as Upsert
from hashrange.session.writes import Write as Write

__version__: str

open = open_database  # noqa: A001 - left out of `*`, so that the built-in open is not replaced
dump_item = dump
load_item = load
Change = ItemChange  # the former name
