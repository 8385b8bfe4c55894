"""The folder described in Croissant 1.0 (ML Commons), the metadata format that dataset search engines read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["croissant"]

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_FIELDS = (
    ("video_id", "sc:Text", "Id of the exam."),
    ("media", "sc:Text", "Video file, relative to the folder."),
    ("duration", "sc:Float", "Length in seconds."),
)


def croissant(info: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """The content of ``croissant.json``.

    Args:
        info: what ``dataset.yaml`` says.
        files: SHA-256 of every file by its path relative to the folder.
    """
    kinds = {"jsonl": "application/jsonlines", "yaml": "application/yaml", "mp4": "video/mp4"}
    distribution = [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path,
            "contentUrl": path,
            "encodingFormat": kinds[path.rpartition(".")[2]],
            "sha256": digest,
        }
        for path, digest in sorted(files.items())
    ]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"videos/{name}",
            "name": name,
            "description": description,
            "dataType": kind,
            "source": {"fileObject": {"@id": "videos.jsonl"}, "extract": {"column": name}},
        }
        for name, kind, description in _FIELDS
    ]
    synthetic = "SYNTHETIC data. " if info.get("synthetic") else ""
    description = f"{synthetic}Videos of clinical skill exams with step scores. {info.get('canary') or ''}"
    published = {"datePublished": info["created"]} if info.get("created") else {}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": info["name"],
        "description": description.strip(),
        "citeAs": info.get("citation") or f"{info['name']}, version {info['version']}",
        "license": info.get("license") or "unknown",
        "url": info.get("url") or "https://schema.org/Dataset",
        "version": info["version"],
        **published,
        "isLiveDataset": False,
        "distribution": distribution,
        "recordSet": [{"@type": "cr:RecordSet", "@id": "videos", "name": "videos", "field": fields}],
    }
