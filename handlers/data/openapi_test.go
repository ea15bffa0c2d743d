package data

import (
	"net/http"
	"os"
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// contract is the document of this package: what the tests ask and are answered is held to it.
var contract = handlerstest.LoadContract(document)

func TestMain(m *testing.M) { os.Exit(contract.Run(m)) }

func exemplary(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*handlerstest.Log) {
	f := mustData(tb, change)
	return f, []*handlerstest.Log{f.log}
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, exemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, exemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("core-data"), nil, nil, nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{"AddEvent": addEvent{}, "FindReadings": findReadings{}})
}

func TestPage(t *testing.T) {
	h, _ := exemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
