package edgex

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

const subject = eventSubjects + "P.D.S"

// Requests as EdgeX 2.3 and 4.0 write them. The origin is above 2^53.
const (
	request2 = `{"apiVersion":"v2","requestId":"e532fdd5-0000-4000-8000-000000000001","event":{"apiVersion":"v2",` +
		`"id":"e532fdd5-0000-4000-8000-000000000002","deviceName":"D","profileName":"P","sourceName":"S",` +
		`"origin":1795771745179468565,"readings":[` +
		`{"id":"e532fdd5-0000-4000-8000-000000000003","origin":1795771745179468567,"deviceName":"D","resourceName":"S",` +
		`"profileName":"P","valueType":"Int8","value":"6"}]}}`
	request4 = `{"apiVersion":"v3","requestId":"e532fdd5-0000-4000-8000-000000000001","event":{"apiVersion":"v3",` +
		`"id":"e532fdd5-0000-4000-8000-000000000002","deviceName":"D","profileName":"P","sourceName":"S",` +
		`"origin":1795771745179468565,"readings":[` +
		`{"id":"e532fdd5-0000-4000-8000-000000000003","origin":1795771745179468567,"deviceName":"D","resourceName":"S",` +
		`"profileName":"P","valueType":"Int8","tags":{"a":"b"},"value":6},` +
		`{"id":"e532fdd5-0000-4000-8000-000000000004","origin":1795771745179468567,"deviceName":"D","resourceName":"T",` +
		`"profileName":"P","valueType":"Int8","value":null,"binaryValue":null,"objectValue":null}]}}`
)

func newHeaders(version, contentType string) map[string][]string {
	return map[string][]string{
		"ApiVersion": {version}, "Content-Type": {contentType}, "ErrorCode": {"0"}, "RequestId": {""}, "X-Correlation-ID": {"c-1"},
	}
}

// mustCBOR returns JSON as CBOR, with integers in place of floats.
func mustCBOR(t *testing.T, text string) []byte {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	data, err := cbor.Marshal(withIntegers(v))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func withIntegers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case map[string]any:
		for name := range v {
			v[name] = withIntegers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withIntegers(v[i])
		}
	}
	return v
}

// TestEnvelopes decodes the event of one request in each form in which EdgeX 2.3, 3.1 and 4.0 send it.
func TestEnvelopes(t *testing.T) {
	encoded := func(text []byte) string { return base64.StdEncoding.EncodeToString(text) }
	const (
		of2 = `{"ReceivedTopic":"","CorrelationID":"c-1","ApiVersion":"v2","RequestID":"","ErrorCode":0,"Payload":%q,` +
			`"ContentType":"%s","QueryParams":{}}`
		of3 = `{"apiVersion":"v3","receivedTopic":"","correlationID":"c-1","requestID":"","errorCode":0,"payload":%s,"contentType":"%s"}`
	)
	whole := mustCBOR(t, fmt.Sprintf(of3, request4, typeCBOR))
	for name, m := range map[string]Message{
		"2.3, nats":            {subject, newHeaders("v2", typeJSON), []byte(request2)},
		"2.3, nats, CBOR":      {subject, newHeaders("v2", typeCBOR), mustCBOR(t, request2)},
		"2.3, json":            {subject, nil, fmt.Appendf(nil, of2, encoded([]byte(request2)), typeJSON)},
		"2.3, json, CBOR":      {subject, nil, fmt.Appendf(nil, of2, encoded(mustCBOR(t, request2)), typeCBOR)},
		"4.0, nats":            {subject, newHeaders("v3", typeJSON), []byte(request4)},
		"4.0, nats, CBOR":      {subject, newHeaders("v3", typeCBOR), mustCBOR(t, request4)},
		"3.1, json":            {subject, nil, fmt.Appendf(nil, of3, `"`+encoded([]byte(request4))+`"`, typeJSON)},
		"4.0, json":            {subject, nil, fmt.Appendf(nil, of3, request4, typeJSON)},
		"4.0, json, CBOR":      {subject, nil, fmt.Appendf(nil, of3, `"`+encoded(mustCBOR(t, request4))+`"`, typeCBOR)},
		"4.0, whole in CBOR":   {subject, nil, whole},
		"4.0, with service":    {eventSubjects + "service.P.D.S", newHeaders("v3", typeJSON), []byte(request4)},
		"4.0, names escaped":   {eventSubjects + "ser%2Dvice.%50.%44.%53", newHeaders("v3", typeJSON), []byte(request4)},
		"ExactlyOnce and json": {subject, map[string][]string{"Nats-Msg-Id": {"x"}}, fmt.Appendf(nil, of3, request4, typeJSON)},
	} {
		from, e, err := decodeEvent(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if from.path() != "/api/v2/event/P/D/S" || e.correlation != "c-1" {
			t.Errorf("%s: path %s, correlation %s", name, from.path(), e.correlation)
		}
		var got struct {
			APIVersion string
			RequestID  string
			Event      struct {
				APIVersion, ID, DeviceName, ProfileName, SourceName string
				Origin                                              int64
				Readings                                            []struct {
					ID, Value, ValueType, ResourceName string
					Origin                             int64
				}
			}
		}
		read := json.Unmarshal
		if e.contentType == typeCBOR {
			read = cbor.Unmarshal
		}
		if err := read(e.payload, &got); err != nil {
			t.Errorf("%s: %v in %s", name, err, e.payload)
			continue
		}
		if len(got.Event.Readings) != 1 {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		r := got.Event.Readings[0]
		if got.APIVersion != "v2" || got.Event.APIVersion != "v2" || got.Event.Origin != 1795771745179468565 ||
			r.Origin != 1795771745179468567 || r.Value != "6" || r.ValueType != "Int8" || r.ResourceName != "S" ||
			!strings.HasSuffix(got.Event.ID, "2") || !strings.HasSuffix(r.ID, "3") ||
			!strings.HasSuffix(got.RequestID, "1") || got.Event.DeviceName+got.Event.ProfileName+got.Event.SourceName != "DPS" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestValuesOf4 turns values of EdgeX 4.0 into texts, in JSON and in CBOR.
func TestValuesOf4(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`"a"`, `"a"`},
		{`""`, `""`},
		{`1.50`, `"1.50"`},
		{`-12345678901234567890`, `"-12345678901234567890"`},
		{`true`, `"true"`},
	} {
		if got, err := textOfJSON(json.RawMessage(c.json)); err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v", c.json, got, err)
		}
	}
	for value, want := range map[any]string{
		"a": "a", uint64(1) << 63: "9223372036854775808", int64(-5): "-5", 1.5: "1.5e+00", float32(0.5): "5e-01", true: "true",
	} {
		data, err := cbor.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := textOfCBOR(data)
		var got string
		if err == nil {
			err = cbor.Unmarshal(text, &got)
		}
		if err != nil || got != want {
			t.Errorf("%v: got %q, %v", value, got, err)
		}
	}
}

// TestBadMessages holds the error of each message.
func TestBadMessages(t *testing.T) {
	failed := newHeaders("v3", "text/plain")
	failed["ErrorCode"] = []string{"1"}
	many, of4 := strings.Repeat("{},", 200_000), newHeaders("v3", typeJSON)
	for _, c := range []struct {
		m    Message
		want string
	}{
		{Message{eventSubjects + "P.D", newHeaders("v2", typeJSON), []byte(request2)}, "the topic has 2 levels"},
		{Message{eventSubjects + "P.D.%zz", newHeaders("v2", typeJSON), []byte(request2)}, `the level "%zz"`},
		{Message{subject, failed, []byte("no such device")}, `the sender says "no such device"`},
		{Message{subject, newHeaders("v2", "text/plain"), []byte("x")}, `contentType: "text/plain" is unknown`},
		{Message{subject, newHeaders("v2", typeJSON), nil}, "payload: is empty"},
		{Message{subject, newHeaders("v3", typeJSON), []byte("{")}, "the payload is not an AddEventRequest"},
		{Message{subject, newHeaders("v3", typeCBOR), []byte{0xa1}}, "the payload is not an AddEventRequest"},
		{Message{subject, of4, []byte(`{"event":{"readings":[` + many + `{}]}}`)}, "has 200001 entries; use at most 1000"},
		{Message{subject, of4, []byte(`{"event":{"readings":[{"value":[1]}]}}`)}, "event.readings[0]: value: [1] is not"},
		{Message{subject, nil, nil}, "has no header Content-Type"},
		{Message{subject, nil, []byte("garbage")}, "has no header Content-Type"},
		{Message{subject, nil, []byte{0xa1, 0x01}}, "the envelope is not CBOR"},
		{Message{subject, nil, []byte(`{"contentType":"application/json","payload":null}`)}, "payload: is empty"},
		{Message{subject, nil, []byte(`{"contentType":"application/json","payload":"!"}`)}, "payload: is not base64"},
		{Message{subject, nil, []byte(`{"errorCode":1,"contentType":"text/plain","payload":"bm8="}`)}, `the sender says "no"`},
		{Message{subject, nil, []byte(`{"errorCode":1,"contentType":"text/plain","payload":"not found"}`)}, "not found"},
	} {
		if _, _, err := decodeEvent(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, want %s", c.m.Data, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(subject, typeJSON, "v3", []byte(request4))
	f.Add(subject, typeCBOR, "v3", []byte{0xa1, 0x61, 0x61, 0xf6})
	f.Add(subject, "", "", []byte(`{"payload":"e30=","contentType":"application/json"}`))
	f.Fuzz(func(t *testing.T, subject, contentType, version string, data []byte) {
		m := Message{subject, newHeaders(version, contentType), data}
		if contentType == "" {
			m.Header = nil
		}
		from, e, err := decodeEvent(m)
		if err == nil && (!strings.HasPrefix(from.path(), "/api/v2/event/") || len(e.payload) == 0) {
			t.Errorf("path %s, payload %q", from.path(), e.payload)
		}
	})
}
