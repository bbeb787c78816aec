// The names of rpc/codec.h and of the heads in ps.proto, for headers that only mention them: the
// generated code is large, and only sources that encode or decode messages read it.
#pragma once

namespace flotilla {

class TensorReader;
class TensorWriter;
struct RequestMessage;
struct ResponseMessage;

namespace wire {
class CollectiveRequest;
class PushRequest;
class RequestHead;
class ResponseHead;
enum CollectiveKind : int;
enum Method : int;
}  // namespace wire

}  // namespace flotilla
