package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// sendChannel returns the channel that a browser sends for a form.
func sendChannel(t *testing.T, f channelForm) (ch domain.Channel) {
	t.Helper()
	f.setInputs(Network{}, nil)
	form := url.Values{}
	for _, input := range slices.Concat(f.Inputs, f.Advanced) {
		value := input.Value
		if input.Type == "select" && !slices.ContainsFunc(input.Options, func(o web.Option) bool { return o.Value == value }) {
			value = input.Options[0].Value
		}
		if input.Type != "checkbox" || value != "" {
			form.Set(input.Name, value)
		}
	}
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(form.Encode()))
	c.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	text, err := json.Marshal(readChannel(c, f.Index, f.ChannelKind).fields(new(web.Problems)))
	if err == nil {
		err = json.Unmarshal(text, &ch)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestFormsKeepChannels holds that a form changes no field of a channel, also none that it does not show. Before, it dropped allow and
// clientKeys, so that everybody received the messages, and made a POST of a GET.
func TestFormsKeepChannels(t *testing.T) {
	for _, k := range domain.ChannelKinds() {
		scheme, _ := k.Field("scheme")
		ch := domain.Channel{
			Type: k.Type, Host: "h", Port: 1, Path: "/p", HTTPMethod: "GET", Topic: "t", Publisher: "p", QoS: 2, KeepAlive: 3,
			Retained: true, AutoReconnect: true, ConnectTimeout: 4, Recipients: []string{"a@example.com", "b@example.com"},
			SecretPath: "s", AuthMode: domain.AuthCert, SkipCertVerify: true, Allow: []string{"::1", "10.0.0.0/8"},
			ClientKeys: []string{"wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"},
		}
		if n := len(scheme.Choices); n > 0 {
			ch.Scheme = scheme.Choices[n-1]
		}
		ch = ch.Trim()
		if got := sendChannel(t, channelFormOf(ch)); !got.Equal(ch) {
			t.Errorf("got  %+v\nwant %+v", got, ch)
		}
	}
}

// TestNewChannelForms holds that the form of a new channel lacks the required fields without a default, and nothing else.
func TestNewChannelForms(t *testing.T) {
	for _, k := range domain.ChannelKinds() {
		var want, got []string
		for _, f := range k.Fields {
			if f.Required && f.Default == "" {
				want = append(want, f.Name)
			}
		}
		for _, p := range sendChannel(t, Network{}.newChannel(k)).Check() {
			got = append(got, p.Path())
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the new channel has no good %v, want %v", k.Type, got, want)
		}
	}
}
