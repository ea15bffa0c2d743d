package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/jsonform"
)

// Secrets keeps what POST /secret brings. Put replaces all that is at path, its uses too, durably.
type Secrets interface {
	Put(path string, data map[string]string, uses []domain.SecretUse) error
}

// SecretRequest is the body of POST /secret, as in EdgeX 2.3. AllowedUses are Ledge's own: EdgeX lets a secret be sent anywhere.
type SecretRequest struct {
	Head
	Path       string `json:"path"`
	SecretData []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"secretData"`
	AllowedUses []domain.SecretUse `json:"allowedUses"`
}

// postSecret answers 201. No answer has anything of the body, and the log has only its path and the uses that it allows: what stands in
// another place than it should may be a secret too.
func (a *API) postSecret(c *gin.Context) {
	body, err := a.ReadBody(c, a.SecretBytes)
	if err != nil {
		a.Fail(c, err)
		return
	}
	r, err := decodeSecret(body, a.APIVersion)
	if err == nil {
		err = r.check(a.APIVersion).Err()
	}
	if err == nil {
		err = a.Secrets.Put(r.Path, r.data(), r.AllowedUses)
	}
	if err != nil {
		a.Fail(c, err)
		return
	}
	a.Logger.Info("secret stored", "service", a.Service, "path", r.Path, "uses", fmt.Sprint(r.AllowedUses), "actor", access.Actor(c.Request), "remote", c.Request.RemoteAddr, "correlation", access.CorrelationID(c.Writer))
	answer := a.Envelope(http.StatusCreated)
	answer.RequestID = r.RequestID
	a.Reply(c, http.StatusCreated, answer)
}

// decodeSecret says of what it cannot decode only where it is. As in EdgeX, what follows the object is not looked at.
func decodeSecret(body []byte, version string) (r SecretRequest, err error) {
	if err := jsonform.CheckLimits(body, body, 0); err != nil {
		return r, err
	}
	err = json.NewDecoder(bytes.NewReader(body)).Decode(&r)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.TrimPrefix(mistyped.Field, "Head.")
		if field == "" {
			field = "the body"
		}
		return r, domain.FieldErrorf(field, "has the wrong type; give %s", jsonform.DescribeType(mistyped.Type))
	}
	if err != nil {
		where := "ends early"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			where = fmt.Sprintf("is no JSON at byte %d", syntax.Offset)
		}
		return r, domain.Errorf(domain.Invalid, `the body %s; send {"apiVersion":%q,"path":"…","secretData":[{"key":"…","value":"…"}]}`,
			where, version)
	}
	return r, nil
}

// check notes what is wrong, by place and never by value.
func (r *SecretRequest) check(version string) (p domain.Problems) {
	if !strings.EqualFold(r.APIVersion, version) {
		p.Add("apiVersion", "is missing or unknown; use %q", version)
	}
	if r.RequestID != "" && !domain.IsUUID(r.RequestID) {
		p.Add("requestId", "is no UUID; give a UUID or leave it out")
	}
	checkPrintable(&p, "path", strings.Trim(r.Path, "/"))
	if len(r.SecretData) == 0 {
		p.Add("secretData", "is missing or empty; give at least one key and value")
	}
	for i, d := range r.SecretData {
		checkPrintable(&p, fmt.Sprintf("secretData[%d].key", i), d.Key)
		if d.Value == "" {
			p.Add(fmt.Sprintf("secretData[%d].value", i), "is missing or empty; give the secret")
		}
	}
	if n := len(r.AllowedUses); n > domain.MaxSecretUses {
		p.Add("allowedUses", "has %d entries; use at most %d", n, domain.MaxSecretUses)
		return p
	}
	for i, u := range r.AllowedUses {
		p.In(fmt.Sprintf("allowedUses[%d]", i), u.Check())
	}
	return p
}

func checkPrintable(p *domain.Problems, field, value string) {
	switch {
	case value == "":
		p.Add(field, "is missing or empty; give a name for it")
	case len(value) > domain.MaxName || !access.IsPrintable(value):
		p.Add(field, "is longer than %d bytes or not all printable ASCII; give a short name", domain.MaxName)
	}
}

func (r *SecretRequest) data() map[string]string {
	data := make(map[string]string, len(r.SecretData))
	for _, d := range r.SecretData {
		data[d.Key] = d.Value
	}
	return data
}
