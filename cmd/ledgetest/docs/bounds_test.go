package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/ledgetest"
)

// boundTests has, for each row of the tables of docs/reference/limits.md and limits-delivery.md, the tests that drive Ledge to the bound and hold what
// the row says.
var boundTests = map[string][]string{
	"time for a command to a device service, with its wait; its answer; the body of a `PUT`": {
		"TestTimeout", "TestReads", "TestRefusedWrites", "TestHostileDeviceService",
	},
	"commands under way, to one device service and to all; commands that wait for one": {"TestSlowServiceCostsOthersNothing", "TestSlowDeviceService"},

	"sessions of the console; of one user": {"TestSessionsOfAllAreBounded", "TestSessionsAreBounded"},
	"live streams of the console, one for each browser; topics": {
		"TestListenersAreBounded", "TestLiveStream", "TestConsoleTopicsOfOneBrowser",
	},
	"an answer of a service that the console shows": {"TestLongAnswers"},
	"events that one request of the console's ledger reads; bytes of them; bytes of them in memory; data of an event that is shown": {"TestConsoleLedgerFilters", "TestConsoleLargeEvent"},
	"a form of the console; a value, an import or a profile in it":                                                                  {"TestLongForms", "TestEveryRouteBoundsItsBody", "TestAttackForms"},
	"a port that an outgoing connection has, at a start":                                                                            {"TestPortOfOutgoingConnection"},
	"bodies of readings that were being recorded when the log failed":                                                               {"TestPayloadsAreReleased", "TestFailedSyncIsFinal"},
	"JSON body, profile file, posted event, posted body, secret":                                                                    {"TestSeed_8_Limits", "TestUploadProfile", "TestResourceLimits", "TestSecret", "TestBatchLimits"},
	"all secrets together": {"TestPutIsBounded"},
	"hashes of all passwords and tokens together; keys of the program":               {"TestCredentialsAreBounded"},
	"entries of a list in one answer":                                                {"TestMaxResults"},
	"`ledge log -n`":                                                                 {"TestLogFilterFlags"},
	"topics of one ZeroMQ socket in `endpoint/all` and `ledge why`; one topic there": {"TestAudience", "TestShownTopic"},
	"events of one page of the log; bytes of them; data on a page, of one event; pages read at a time": {
		"TestPageBounds", "TestEvents",
	},
	"streams of events; time for a client to read":                                         {"TestStreamsOfOneClient", "TestStalledStream"},
	"events, memory of a list `asOf`":                                                      {"TestPastIsBounded"},
	"requests for metrics at once, each service":                                           {"TestScrapesAreBounded"},
	"log lines of refused requests":                                                        {"TestRefusedLog"},
	"payload of a NATS message, of a value that is not stored (`persist-data: false`) too": {"TestPersistDataOff", "TestLargeValues"},
	"elements of a request":                                                                {"TestBatchLimits"},
	"users or tokens of a request; its body":                                               {"TestUserAPIAttacks"},
	"allowed uses of a secret":                                                             {"TestAllowedSecrets"},
	"instances of Ledge that a request has passed":                                         {"TestHops", "TestAttackLoop"},
	"users; tokens; patterns of devices of a token":                                        {"TestUsers", "TestTokens"},
	"`admin.sock`: connections; of those `ledge log -f` and `ledge verify`":                {"TestAdminSocketBounds", "TestLastingRequests"},
	"`admin.sock`: a request; time for a request, and to read an answer":                   {"TestAdminSocketBounds"},
	"the file of a password":                                                               {"TestPasswordFile"},
	"names of ZeroMQ channels, looked up for one client and for one request":               {"TestAttackNames"},
	"connections to name servers, for ZeroMQ channels and for all else":                    {"TestNameServerConnections"},
	"names that are remembered, for 10 s":                                                  {"TestRememberedNames"},
	"one element of a request, or a request that is one object; a profile":                 {"TestElementLimits", "TestJSONCountsInFull"},
	"a profile, as JSON of an answer":                                                      {"TestProfileLengthCoversAnswers", "TestLargeProfiles"},
	"entries of lists and objects of a request, decoded: 96 bytes each, an object 6 times as much; keys, values, lists, mappings and comments of a YAML text: 192 each": {"TestElementLimits", "TestMostNodes"},
	"text that aliases of a YAML text make of it":                                              {"TestBadUploads", "TestParse"},
	"keys of one mapping of a YAML text; of one object or table of an import, and its columns": {"TestParse", "TestReadWrong"},
	"resources of a profile that the console shows and edits; memory for its YAML; the YAML":   {"TestConsoleProfiles", "TestAttackProfilePages"},
	"bytes of the log for the changes of one request, of profiles the whole profile for each":  {"TestLargeBatchOfOneProfile"},
	"depth of JSON, YAML and CBOR; numbers in them":                                            {"TestUnreadableRequests"},
	"a page of the console; its form, when it is shown again":                                  {"TestLongPage"},
	"an entity on a page of the console: one text, entries of one list, all of it":             {"TestCut", "TestCutRoom", "TestAttackLargePages"},
	"one change in the history of the console: one value; all of it":                           {"TestChangesAreCut", "TestAttackLargeHistory"},
	"an entity that a form of the console has whole, in memory":                                {"TestLargeForms"},
	"users, and tokens, that the console lists":                                                {"TestAccountsAreBounded"},
	"labels of a device in the console's search; their texts":                                  {"TestIndexOfLongTexts"},
	"file descriptors": {"TestSplitDescriptors", "TestTooFewDescriptors", "TestOutOfDescriptors"},
	"connections to the HTTP services: to all, to one, of one client":                                                 {"TestTotal", "TestServiceLimit", "TestBusy", "TestBusyClientTakesNoConnections", "TestSharesOfConnections", "TestAttackConnections"},
	"requests with a body in work, each service":                                                                      {"TestBodiesInFlight", "TestQuota"},
	"bodies in memory, of all services; a byte of a form of the console counts":                                       {"TestBodyMemory", "TestIdleBodiesTakeNoMemory", "TestAttackIdlePosts"},
	"pace at which a body arrives":                                                                                    {"TestPaceOfBodies", "TestSlowBody", "TestStalledBodyOfNoHandler"},
	"answers to requests with an `Idempotency-Key`, each stream":                                                      {"TestMostAnswers", "TestMostAnswersOfClient", "TestAttackIdempotencyTable"},
	"the file `ledge-secret-key`":                                                                                     {"TestSecretKeyFileIsRefused"},
	"the files of `tls-cert`, `tls-key` and `tls-client-ca`":                                                          {"TestFilesAreReadAgain", "TestCertificateFiles", "TestClientCAFile"},
	"host names, and addresses, in the certificate of the local CA":                                                   {"TestNamesAreBounded"},
	"time for a TLS handshake and the header of the first request":                                                    {"TestSilentTLS"},
	"a password; a token that a client sends":                                                                         {"TestPassword", "TestHashPassword", "TestSecretToken"},
	"passwords that are computed at once, and that wait: of all clients, of one":                                      {"TestFlood", "TestTurnsAreFair", "TestTurnsAreBounded"},
	"clients whose failed logins are remembered, for 15 minutes; names of each":                                       {"TestFailuresAreBounded", "TestWaitsEnd"},
	"keys of the issuer of JWTs; the document":                                                                        {"TestJWKS", "TestIssuerIsDown", "TestUnknownKeys"},
	"the address of a host name that is to be listened on":                                                            {"TestLookup"},
	"large entities and values in memory to be shown or looked at, each service and the console":                      {"TestValuesInMemory", "TestMemoryOfAnswers", "TestLargeDevice", "TestPagesWaitForMemory", "TestAttackLargeHistory"},
	"part of an answer in memory":                                                                                     {"TestListInParts", "TestAttackUnreadDevices", "TestAttackUnreadNotifications"},
	"message in an answer":                                                                                            {"TestMessageIsCut"},
	"time for a part of an answer to be read":                                                                         {"TestSlowReader", "TestStalledReader"},
	"commands that wait for the log":                                                                                  {"TestQueueIsBounded", "TestSubmitBytes"},
	"time to connect to where a notification is sent, or a device service is called":                                  {"TestTimeouts"},
	"answer of an endpoint that is put on record":                                                                     {"TestResponseIsCut", "TestCut", "TestAttackAnswers", "TestAnswersOnRecordAreBounded"},
	"channels of a subscription":                                                                                      {"TestChannelsBytes", "TestAttackManyRecipients"},
	"channels of all subscriptions":                                                                                   {"TestChannelsTogether"},
	"categories and labels of a subscription or a notification":                                                       {"TestAddNotification"},
	"content of a notification; its description":                                                                      {"TestAddNotification"},
	"transmissions of a notification that one event records":                                                          {"TestAttackManyRecipients", "TestCrashBetweenParts"},
	"notifications in memory that wait, for one URL or topic and for all":                                             {"TestMoreThanTheQueueHolds", "TestShareOfQueues", "TestAttackWaiting"},
	"sends under way, to one host and port and to all":                                                                {"TestDeadEndpointsDelayNobody", "TestShares", "TestAttackSlowReceivers"},
	"names in the list of a subscription's notifications, where one notification's transmissions take several events": {"TestMatchedOfPartsIsBounded"},
	"notifications, outcomes of tries, that wait to be recorded":                                                      {"TestWaitingBytes"},
	"notifications that one acknowledgement names":                                                                    {"TestAcknowledgeNotifications", "TestAcknowledgedContentIsBounded"},
	"time after which a send is slow":                                                                                 {"TestSlowReceiversLeaveRoom", "TestAttackSlowReceivers"},
	"endpoints and device services of which it is known whether they are slow":                                        {"TestKnownIsBounded"},
	"services that are behind with their callbacks, in one event":                                                     {"TestManyServicesBehind"},
	"time without an acknowledgement of the log's server":                                                             {"TestSlowAcknowledgementIsNoFailedWrite", "TestLostAcknowledgementIsNoticed"},
	"time for one try": {"TestTimeouts"},
	"time that a request about notifications waits for the record of what was sent before": {"TestSettleEndsWithItsContext"},
	"pause of an endpoint that fails":                                           {"TestPausesOfAServer", "TestPausesOfATarget"},
	"resends of a notification, and its age":                                    {"TestGivenUp", "TestGivenUpForItsAge"},
	"idle connections to endpoints":                                             {"TestConnectionsAreReused"},
	"connections to MQTT brokers":                                               {"TestConnectionsAreBounded"},
	"ZeroMQ sockets; hosts and ports that stand for them":                       {"TestAttackZeroMQSockets", "TestSocketLimit", "TestNamesOfSockets"},
	"CURVE handshakes, and long messages, that are being computed at once":      {"TestComputingIsBounded"},
	"memory in which messages are encrypted for a ZeroMQ subscriber with CURVE": {"TestRoomIsAwaited", "TestCurveStalled", "TestSealedNeedsRoom"},
	"`allow` and `clientKeys` of a ZeroMQ channel":                              {"TestChannels"},
	"connections to a ZeroMQ socket, to all of them, and of one client":         {"TestAttackZeroMQSilentPeers", "TestSilentPeersGiveWay", "TestPeersOfOneAddress", "TestPeersOfOneSocket"},
	"file descriptors of ZeroMQ sockets and their peers":                        {"TestFitSockets", "TestAttackZeroMQSilentPeers"},
	"time for the handshake of a peer":                                          {"TestHandshakeTimeout"},
	"frame of a peer":                                                           {"TestHostileFrameHeader", "TestLongFramesCount"},
	"frames that a peer sends":                                                  {"TestAttackZeroMQFlood", "TestPace"},
	"topics of one subscriber":                                                  {"TestTopicLimits"},
	"topics of all subscribers":                                                 {"TestAttackZeroMQTopics", "TestAllTopicsLimit"},
	"messages for one slow subscriber":                                          {"TestQueueBounds"},
	"messages for all subscribers":                                              {"TestAttackZeroMQQueues", "TestAllQueuesBound", "TestSharedMessageCountsOnce", "TestStalledGiveRoom"},
	"messages on their way to the queues of a socket":                           {"TestBacklogIsBounded", "TestPublishOverloaded"},
	"notifications, and time, of one replay":                                    {"TestReplay", "TestReplayRefusals"},
	"a subscriber that makes no room for what is replayed, or is still to come": {"TestReplayToASlowSubscriber", "TestPacedPassesTheStalled"},
	"replays under way":                                                         {"TestReplaysAtOnce"},
	"a subscriber that takes nothing":                                           {"TestStalledSubscriberIsEvicted"},
	"a device service's word on a device that is added or changed":              {"TestValidateDeviceOfOneThatStalls"},
	"a device service's answer to a callback":                                   {"TestCallbacksOfOneThatStalls"},
	"tries of a callback that is answered 5xx":                                  {"TestCallbacksThatFail", "TestCallbacksInVain"},
	"time for a device service that does not answer":                            {"TestCallbacksAreGivenUp"},
	"callbacks that wait for one device service":                                {"TestCallbacksAreGivenUp"},
	"callbacks under way, one for each service, and validations":                {"TestCallbacksOfOneThatStalls"},
	"notifications, by age":                                                     {"TestOldNotificationsGo"},
	"readings, by age; notifications and readings, by bytes":                    {"TestLimitByAge", "TestLimitDropsBlocks"},
	"the log of changes":                                                        {"TestArchive"},
	"clients of the bus (NATS, Redis, MQTT)":                                    {"TestConnections", "TestAttackNATSConnections"},
	"connections to the bus that have not logged in":                            {"TestHalfOpenLogins", "TestAttackHalfOpenNATSClients"},
	"time for the check of the login of a client of the bus":                    {"TestLoginTimes"},
	"time until a client of the bus whose token has expired is cut off":         {"TestTokenExpires"},
	"bytes that wait for one client of the bus":                                 {"TestMemoryOfOne"},
	"bytes that wait for all clients of the bus together":                       {"TestMemoryOfAll", "TestAttackSilentNATSClients"},
	"time in which a client of the bus reads nothing":                           {"TestClientThatReadsNothing", "TestMQTTUnread"},
	"subscriptions of a client of the bus; consumers of a stream":               {"TestRedisSubscribe", "TestConsumersAreBounded"},
	"command line of a NATS client; payload":                                    {"TestClientLimits", "TestAttackForbiddenPublishes"},
	"bytes that one address sends to the bus in a second; at once":              {"TestRate", "TestAttackAnswersUnread"},
	"each copy of a log for NATS clients":                                       {"TestCopyIsBounded"},
	"bytes of a command of a Redis client":                                      {"TestRedisBounds", "TestRedisSecure"},
	"arguments of a command of a Redis client":                                  {"TestRedisBounds"},
	"channel of a Redis client; topic of an MQTT client":                        {"TestRedis", "TestTopics"},
	"bytes of a packet of an MQTT client; of all but PUBLISH":                   {"TestMQTTBounds"},
	"time that a message of an MQTT client waits for room":                      {"TestMQTTFullStream"},
	"the stream of EdgeX's message bus":                                         {"TestStreamIsBounded", "TestReserveRefusesClients"},
	"events of EdgeX's bus that are recorded at a time, one of each device":     {"TestAtOnce", "TestStreamIsBounded"},
	"refused events of EdgeX's message bus that are kept; bytes of each":        {"TestRefused"},
	"header of a request: bytes, lines":                                         {"TestManyHeaderLines"},
	"headers longer than 4 KiB that are not complete":                           {"TestLongHeaders"},
	"requests with a body before a login: at a time, of each service; body; time for it. These are logins, and in secure mode all requests without an identity": {"TestOldestLoginGivesWay", "TestHeldLogins", "TestLogin"},
	"body of a login": {"TestLogin"},
	"addresses whose refused requests are logged, in a minute": {"TestRefusalsAreLogged"},
	"log lines of one message":                                 {"TestLogLinesAreLimited", "TestLogLinesOfManyClients", "TestAttackLogLines"},
	"one value in a log line":                                  {"TestLongValuesAreCut"},
	"readings of a pattern":                                    {"TestRetentionByRules"},
	"devices in the console's search, some 400 bytes each; how long they are kept without a query":    {"TestIndexIsBounded", "TestIndexIsDropped"},
	"devices of one import of the console; its text; one device; memory for what is made of the text": {"TestConsoleImport", "TestReadWrong", "TestReadHoldsMemory", "TestAttackTexts"},
	"changes that the console undoes to show a device as it was":                                      {"TestConsoleLongHistory"},
	"pages of readings in the console":                                                                {"TestConsoleReadings"},
}

// TestBounds walks the table: each row has tests, which are there, and each setting of it is one.
func TestBounds(t *testing.T) {
	tables := ledgetest.MustReadDocs(t, "reference/limits.md", "reference/limits-delivery.md")
	c := config.Default()
	settings := c.Settings()
	tests := testNames(t)
	rows := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || strings.HasPrefix(line, "| what") || !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		what := strings.TrimSpace(strings.TrimPrefix(cells[0], "|"))
		if len(boundTests[what]) == 0 {
			t.Errorf("no test is named for %q", what)
		}
		for _, name := range boundTests[what] {
			if !slices.Contains(tests, name) {
				t.Errorf("%q: there is no %s", what, name)
			}
		}
		for _, m := range regexp.MustCompile("`([a-z]+(-[a-z]+)+)`").FindAllStringSubmatch(cells[1], -1) {
			if settings.Lookup(m[1]) == nil {
				t.Errorf("%q: there is no setting %s", what, m[1])
			}
		}
	}
	if rows != len(boundTests) {
		t.Errorf("the table has %d rows, and there are tests for %d", rows, len(boundTests))
	}
}

// testNames are those of all tests of the repository.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
