package metrics

import (
	"time"

	"ledge/bridge/zeromq"
	"ledge/cmd/internal/retention"
	"ledge/domain"
	"ledge/handlers/connections"
	"ledge/store/bus"
)

var (
	ofBuild = []measure[int]{
		{"ledge_build_info", "The version of the program.", count},
	}
	ofMemory = []measure[memoryUse]{
		{"ledge_memory_anonymous_bytes", "Resident memory that is the process's own.", func(u memoryUse) float64 { return float64(u.anonymous) }},
		{"ledge_memory_mapped_bytes", "Resident pages of files that the process maps; the system takes them back when it needs memory.", func(u memoryUse) float64 { return float64(u.mapped) }},
	}
	ofStorage = []measure[Storage]{
		{"ledge_disk_free_bytes", "Free disk space of the log.", func(s Storage) float64 { return float64(s.FreeBytes) }},
		{"ledge_archives", "Archives of the log of changes.", func(s Storage) float64 { return float64(s.Archive.Archives) }},
		{"ledge_archived_bytes", "Size of these archives.", func(s Storage) float64 { return float64(s.Archive.ArchivedBytes) }},
	}
	ofPayloads = []measure[payloadUse]{
		{"ledge_payloads", "Values that are kept as files beside the log.", func(u payloadUse) float64 { return float64(u.Count) }},
		{"ledge_payload_bytes", "Size of these files.", func(u payloadUse) float64 { return float64(u.Bytes) }},
		{"ledge_payload_damaged_reads_total", "Reads since the start that found one of these files damaged.", func(u payloadUse) float64 { return float64(u.Damaged) }},
	}
	ofUnrecorded = []measure[int64]{
		{"ledge_notifications_unrecorded_total", "Notifications, deliveries to a subscription and outcomes of tries since the start that the log refused for good; the log file names each.", func(n int64) float64 { return float64(n) }},
	}
	ofDelivery = []measure[int]{
		{"ledge_delivery_off", "1 if the server was started with --no-delivery and sends nothing, else 0.", count},
	}
	ofStreams = []measure[streamUse]{
		{"ledge_stream_bytes", "Size of the files of a stream.", func(s streamUse) float64 { return float64(s.Bytes) }},
		{"ledge_stream_first_sequence", "Sequence of the first event that is kept.", func(s streamUse) float64 { return float64(s.First) }},
		{"ledge_stream_last_sequence", "Sequence of the last event.", func(s streamUse) float64 { return float64(s.Last) }},
		{"ledge_stream_reserve_bytes", "Free disk space below which requests are refused.", func(s streamUse) float64 { return float64(s.Reserve) }},
		{"ledge_stream_refused_total", "Requests refused because the disk is full.", func(s streamUse) float64 { return float64(s.Refused) }},
		{"ledge_stream_skipped_events", "Events that could not be decoded and were skipped.", func(s streamUse) float64 { return float64(s.Skipped) }},
	}
	ofProjections = []measure[projectionUse]{
		{"ledge_projection_lag_events", "Events of a stream that the state does not show yet.", func(u projectionUse) float64 { return float64(u.lag) }},
		{"ledge_append_waiting_requests", "Requests that wait to be recorded on a stream.", func(u projectionUse) float64 { return float64(u.waiting) }},
	}
	ofZeroMQ = []measure[zeromq.Use]{
		{"ledge_zeromq_sockets", "ZeroMQ sockets that are bound.", func(u zeromq.Use) float64 { return float64(u.Sockets) }},
		{"ledge_zeromq_peers", "Connections to all ZeroMQ sockets.", func(u zeromq.Use) float64 { return float64(u.Peers) }},
		{"ledge_zeromq_silent_peers", "Connections without a subscription.", func(u zeromq.Use) float64 { return float64(u.Silent) }},
		{"ledge_zeromq_topics", "Topics of all ZeroMQ subscribers.", func(u zeromq.Use) float64 { return float64(u.Topics) }},
		{"ledge_zeromq_topic_bytes", "Size of these topics, as their limit counts it.", func(u zeromq.Use) float64 { return float64(u.TopicBytes) }},
		{"ledge_zeromq_queued_bytes", "Memory of the messages that wait for ZeroMQ subscribers.", func(u zeromq.Use) float64 { return float64(u.QueuedBytes) }},
		{"ledge_zeromq_dropped_messages_total", "Messages that were not sent, counted once for each subscriber.", func(u zeromq.Use) float64 { return float64(u.Drops) }},
		{"ledge_zeromq_evicted_peers_total", "Connections that were closed to make room for others.", func(u zeromq.Use) float64 { return float64(u.Evicted) }},
		{"ledge_zeromq_refused_peers_total", "Connections that were refused at a limit.", func(u zeromq.Use) float64 { return float64(u.Refused) }},
	}
	ofConnections = []measure[connections.Counts]{
		{"ledge_http_connections", "Connections to the HTTP services.", func(c connections.Counts) float64 { return float64(c.Open) }},
		{"ledge_http_connections_closed_total", "Idle connections that were closed at a limit since the start.", func(c connections.Counts) float64 { return float64(c.Closed) }},
		{"ledge_http_connections_refused_total", "Connections that were refused at a limit since the start.", func(c connections.Counts) float64 { return float64(c.Refused) }},
	}
	ofPeers = []measure[int]{
		{"ledge_zeromq_refusals_total", "Connections to ZeroMQ sockets that were refused or ended since the start because of the peer, by reason.", count},
	}
	ofHandshakes = []measure[int]{
		{"ledge_tls_handshakes_failed_total", "TLS handshakes of HTTP clients that failed since the start, by reason.", count},
	}
	ofCertificate = []measure[time.Duration]{
		{"ledge_tls_certificate_expires_seconds", "Time until the certificate of the server expires; negative after that.", time.Duration.Seconds},
	}
	ofNATS = []measure[int]{
		{"ledge_nats_refused_total", "Clients of the bus that were refused or cut off since the start, by reason.", count},
	}
	ofNATSClients = []measure[int]{
		{"ledge_nats_clients", "Clients of the bus that are connected: NATS, Redis, MQTT.", count},
	}
	ofBusLag = []measure[bus.Stats]{
		{"ledge_bus_lag_events", "Events that queries show and that NATS clients do not have yet, by stream.", func(s bus.Stats) float64 { return float64(s.Lag) }},
	}
	ofEdgeXEvents = []measure[uint64]{
		{"ledge_edgex_events_total", "Events of EdgeX services on the bus since the start, by result.", countLarge},
	}
	ofEdgeXRefused = []measure[int]{
		{"ledge_edgex_refused_total", "Events on the bus since the start that were refused for good, by reason.", count},
	}
	ofEdgeXPublished = []measure[uint64]{
		{"ledge_edgex_published_total", "Events and system events to publish on the bus since the start, by result.", countLarge},
	}
	ofEdgeXWaiting = []measure[uint64]{
		{"ledge_edgex_waiting_messages", "Messages of EdgeX services on the bus that Ledge has not taken yet.", countLarge},
	}
	ofLogins = []measure[int]{
		{"ledge_identity_refused_total", "Logins, tokens and certificates that were refused since the start, by reason.", count},
	}
	ofRefusals = []measure[int]{
		{"ledge_http_refusals_total", "Requests since the start that were refused for want of a login or a right.", count},
	}
	ofRules = []measure[retention.RuleUse]{
		{"ledge_retention_kept_events", "Data events that fall under a rule.", func(r retention.RuleUse) float64 { return float64(r.Kept) }},
		{"ledge_retention_kept_bytes", "Size of their values.", func(r retention.RuleUse) float64 { return float64(r.KeptBytes) }},
		{"ledge_retention_removed_events_total", "Data events that a rule has removed.", func(r retention.RuleUse) float64 { return float64(r.Removed) }},
		{"ledge_retention_removed_bytes_total", "Size of their values.", func(r retention.RuleUse) float64 { return float64(r.RemovedBytes) }},
	}
	ofCallbacks = []measure[uint64]{
		{"ledge_callbacks_total", "Callbacks to device services since the start, by result; failed ones are tried again.", func(n uint64) float64 { return float64(n) }},
	}
	ofWaitingCallbacks = []measure[waitingCallbacks]{
		{"ledge_callbacks_waiting", "Callbacks that wait for device services or are under way.", func(w waitingCallbacks) float64 { return float64(w.callbacks) }},
		{"ledge_callback_services_waiting", "Device services that callbacks wait for.", func(w waitingCallbacks) float64 { return float64(w.services) }},
	}
	ofEndpoints = []measure[endpointUse]{
		{"ledge_delivery_endpoints", "Endpoints that something waits for or that have failed.", func(u endpointUse) float64 { return float64(u.endpoints) }},
		{"ledge_delivery_failing_endpoints", "Endpoints whose last try failed.", func(u endpointUse) float64 { return float64(u.failing) }},
		{"ledge_delivery_waiting", "Transmissions in memory that wait for a try.", func(u endpointUse) float64 { return float64(u.waiting) }},
		{"ledge_delivery_under_way", "Tries under way.", func(u endpointUse) float64 { return float64(u.underWay) }},
	}
)

// kinds are the kinds of channels as labels have them.
var kinds = domain.ChannelTypes()

func count(n int) float64 { return float64(n) }

func countLarge(n uint64) float64 { return float64(n) }
