package edgex

import (
	"reflect"
	"testing"
)

func TestFromText(t *testing.T) {
	header := func(version string) map[string][]string {
		return map[string][]string{"ApiVersion": {version}, "Content-Type": {"application/json"}, "ErrorCode": {"0"},
			"RequestId": {"r"}, "X-Correlation-ID": {"c"}}
	}
	with := header("v2")
	with["QueryParams"] = []string{"a:1", "b:2"}
	for _, c := range []struct {
		name, text, data string
		header           map[string][]string
	}{
		{"EdgeX 2.3", `{"ApiVersion":"v2","ReceivedTopic":"","CorrelationID":"c","RequestID":"r","ErrorCode":0,"Payload":"e30=",` +
			`"ContentType":"application/json","QueryParams":{"b":"2","a":"1"}}`, "{}", with},
		{"EdgeX 3.1", `{"apiVersion":"v3","receivedTopic":"","correlationID":"c","requestID":"r","errorCode":0,"payload":"e30=",` +
			`"contentType":"application/json"}`, "{}", header("v3")},
		{"a payload that is JSON", `{"apiVersion":"v3","correlationID":"c","requestID":"r","payload":{"n":9007199254740993},` +
			`"contentType":"application/json"}`, `{"n":9007199254740993}`, header("v3")},
		{"no payload", `{"apiVersion":"v3",` +
			`"correlationID":"c","requestID":"r","payload":null,"contentType":"application/json"}`, "", header("v3")},
		{"not base64", `{"apiVersion":"v3","payload":"?","contentType":"application/json"}`,
			`{"apiVersion":"v3","payload":"?","contentType":"application/json"}`, nil},
		{"not an envelope", `{"a":1}`, `{"a":1}`, nil},
		{"not JSON", "\x00", "\x00", nil},
	} {
		got := FromText("edgex.a", []byte(c.text))
		if got.Subject != "edgex.a" || string(got.Data) != c.data || !reflect.DeepEqual(got.Header, c.header) {
			t.Errorf("%s: got %q with %v, want %q with %v", c.name, got.Data, got.Header, c.data, c.header)
		}
	}
}

// TestToText returns the text of which FromText has made a message.
func TestToText(t *testing.T) {
	for name, text := range map[string]string{
		"EdgeX 2.3": `{"ApiVersion":"v2","ReceivedTopic":"","CorrelationID":"c","RequestID":"r","ErrorCode":1,"Payload":"e30=",` +
			`"ContentType":"application/json","QueryParams":{"a":"1","b":"2"}}`,
		"EdgeX 3.1": `{"apiVersion":"v3","receivedTopic":"","correlationID":"c","requestID":"r","errorCode":0,"payload":"e30=",` +
			`"contentType":"application/json"}`,
		"no payload": `{"apiVersion":"v3","receivedTopic":"","correlationID":"c","requestID":"r","errorCode":0,"payload":null,` +
			`"contentType":"application/json"}`,
		"not an envelope": `{"a":1}`,
	} {
		if got := string(ToText(FromText("edgex.a", []byte(text)))); got != text {
			t.Errorf("%s: got %s, want %s", name, got, text)
		}
	}
}
