// Package rest calls the REST APIs of a running node for commands.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/exit"
)

// mostAnswer is the length of the longest answer in bytes.
const mostAnswer = 64 << 20

// API are the REST APIs of a node.
type API struct{ client *http.Client }

// Local returns the APIs of the server that has the data folder dir. Requests are done in the name of the local user.
func Local(dir string) (*API, error) {
	held, client, err := admin.Attach(dir, false)
	if err != nil {
		return nil, err
	}
	if client == nil {
		const says = "no server has the data folder %s, and this needs a running one; start one with `ledge serve`"
		held.Release()
		return nil, exit.With(exit.Usage, fmt.Errorf(says, dir))
	}
	return &API{client.API()}, nil
}

// Do sends a request to a service, with a JSON body unless body is nil, and decodes the answer into a value unless that is nil. The error of
// an answer with a status of 300 or more is its message.
func (a *API) Do(ctx context.Context, method, service, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+service+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", service, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(service, answer.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", service, err)
	}
	return nil
}

// refusalOf returns the error of an answer.
func refusalOf(service string, status int, text []byte) error {
	var failure struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &failure) != nil || failure.Message == "" {
		failure.Message = fmt.Sprintf("%s answers %d: %.200q", service, status, text)
	}
	if status == http.StatusBadRequest {
		return exit.With(exit.Usage, errors.New(failure.Message))
	}
	return errors.New(failure.Message)
}
