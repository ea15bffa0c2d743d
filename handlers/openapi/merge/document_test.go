package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const own = `openapi: 3.0.3
paths:
  /a:
    get: {responses: &all {'200': {$ref: '#/components/responses/Done'}}}
    put: {responses: *all}
`

func TestDocument(t *testing.T) {
	text, err := Document([]byte(own))
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, want := range []string{"openapi: 3.0.3\npaths:\n  /a:\n", "  /ping:\n", "    Done:\n", "    CorrelationID:\n", "  put: {responses: {'200': {$ref: '#/components/responses/Done'}, '401': {$ref: '#/components/responses/Unauthenticated'}, '403': "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{"Offset", "&all", "*all"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is there, and nothing refers to it", not)
		}
	}
	if n := strings.Count(got, "    Metrics:\n"); n != 1 {
		t.Errorf("Metrics: got %d, want one", n)
	}
}

func TestOwnComponentIsKept(t *testing.T) {
	text, err := Document([]byte(own + "components: {responses: {Done: {description: mine}}}\n"))
	if err != nil || strings.Count(string(text), "Done:") != 1 || !strings.Contains(string(text), "description: mine") {
		t.Errorf("got %v\n%s", err, text)
	}
}

func TestBadDocuments(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(own, "Done", "Nosuch", 1):                `reference "#/components/responses/Nosuch": neither the document nor shared.yaml has it`,
		strings.Replace(own, "#/components/", "other.yaml#/", 1): `"other.yaml#/responses/Done" is not of the form`,
		"a: [":  "parse document",
		"- a\n": "is not a mapping",
		"":      "is not a mapping",
	} {
		if _, err := Document([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestMergedDocumentsAreCurrent(t *testing.T) {
	paths, err := sources()
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %v, %v; want the documents of the services", paths, err)
	}
	for _, path := range paths {
		own, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Document(own)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got, err := os.ReadFile(mergedPath(path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current (%v); run make generate", mergedPath(path), err)
		}
	}
}
