// The public header: everything a program needs to define a network, train it, save it and use it.
//
//   Graph, layers        -> Model         what to learn
//   fl::Main             -> a complete program with every option of the `flotilla` command
//   Executor, DatasetFactory              for programs with their own training loop
//   Fleet, Strategy                       the same with servers and trainers
//   Parser, Dataset      -> batches       the training data
//   Predictor            -> scores        a saved model, for use in your own service
//   LocalCommunicator, Trainer            the parts of the above, for separate use
//
// examples/custom_model shows fl::Main and a program with its own loop. The headers included here
// are the reference; everything that they do not show may change.
#pragma once

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/batch_builder.h"
#include "flotilla/dataset/corpus_parser.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/libffm_parser.h"
#include "flotilla/dataset/libsvm_parser.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/multislot_parser.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/stream.h"
#include "flotilla/fleet/executor.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/fleet/main.h"
#include "flotilla/fleet/slot_dataset.h"
#include "flotilla/fleet/strategy.h"
#include "flotilla/graph/graph.h"
#include "flotilla/graph/layers.h"
#include "flotilla/infer/evaluate.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/optim/gradient_clip.h"
#include "flotilla/optim/optimizers.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/config.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"
#include "flotilla/trainer/trainer.h"
